// Elector stands on a Lease with the elector of client-go itself, again whenever it has lost, and prints a line when it
// begins to lead and when it stops. It leaves in order when its standard input ends.
//
// Arguments: KUBECONFIG NAMESPACE NAME IDENTITY LEASE RENEW-DEADLINE RETRY-PERIOD, the last three as "6s".
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	coordinationv1 "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

func main() {
	if len(os.Args) != 8 {
		fail("usage: elector KUBECONFIG NAMESPACE NAME IDENTITY LEASE RENEW-DEADLINE RETRY-PERIOD")
	}
	lease, renewDeadline, retryPeriod := duration(os.Args[5]), duration(os.Args[6]), duration(os.Args[7])
	config, err := clientcmd.BuildConfigFromFlags("", os.Args[1])
	if err != nil {
		fail(err)
	}
	config.ContentType = "application/json" // the Leases of the tests are a custom resource, which has no other
	client, err := coordinationv1.NewForConfig(config)
	if err != nil {
		fail(err)
	}
	standing, leave := context.WithCancel(context.Background())
	go func() {
		io.Copy(io.Discard, os.Stdin)
		leave()
	}()
	var telling sync.Mutex // it is told that it leads on a thread of its own, maybe when that is over
	for standing.Err() == nil {
		leaderelection.RunOrDie(standing, leaderelection.LeaderElectionConfig{
			Lock: &resourcelock.LeaseLock{
				LeaseMeta:  metav1.ObjectMeta{Namespace: os.Args[2], Name: os.Args[3]},
				Client:     client,
				LockConfig: resourcelock.ResourceLockConfig{Identity: os.Args[4]},
			},
			LeaseDuration:   lease,
			RenewDeadline:   renewDeadline,
			RetryPeriod:     retryPeriod,
			ReleaseOnCancel: true,
			Callbacks: leaderelection.LeaderCallbacks{
				OnStartedLeading: func(leading context.Context) {
					telling.Lock()
					defer telling.Unlock()
					if leading.Err() == nil {
						fmt.Println("leads")
					}
				},
				OnStoppedLeading: func() {
					telling.Lock()
					defer telling.Unlock()
					fmt.Println("stopped")
				},
			},
		})
	}
}

func duration(text string) time.Duration {
	parsed, err := time.ParseDuration(text)
	if err != nil {
		fail(err)
	}
	return parsed
}

func fail(why any) {
	fmt.Fprintln(os.Stderr, why)
	os.Exit(2)
}
