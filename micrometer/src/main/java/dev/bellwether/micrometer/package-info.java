/**
 * Elections in Micrometer's words.
 *
 * <p>{@link dev.bellwether.micrometer.BellwetherMeters} makes meters of what {@link dev.bellwether.Metrics} tells: who
 * leads, since when, how long the infrastructure takes to answer, and why terms end.
 * {@link dev.bellwether.micrometer.TermObservations} makes an observation of each term, and so a span if you trace.
 * Either is given to {@link dev.bellwether.ElectionsConfig}, both by {@link dev.bellwether.Metrics#all}.
 * {@code docs/metrics.md} lists every meter; {@code docs/monitoring/} has a dashboard and alerts.
 */
package dev.bellwether.micrometer;
