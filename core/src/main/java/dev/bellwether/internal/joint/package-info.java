/**
 * Elections held on two infrastructures at once: who leads has the seat of both.
 *
 * <p>{@link dev.bellwether.internal.joint.JointSeat} makes one seat of two, {@link
 * dev.bellwether.internal.joint.JointRules} has the decisions on which it rests that nobody leads beside another.
 */
@org.jspecify.annotations.NullMarked
package dev.bellwether.internal.joint;
