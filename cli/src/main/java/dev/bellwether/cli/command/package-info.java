/**
 * What every verb shares: the process around it, the backend that it talks to and how long it waits for an answer, exit
 * codes, and how things are written for people and as JSON. Knows no verb.
 */
@NullMarked
package dev.bellwether.cli.command;

import org.jspecify.annotations.NullMarked;
