/**
 * Lets either the supervisor abandon a save or the seal thread commit it, whichever comes first. A
 * supervisor that closes the gate knows that nothing will be committed. It need not wait for a
 * thread that waits for a disk.
 */
export type CommitGate = SharedArrayBuffer;

const [UNDECIDED, COMMITTED, GIVEN_UP] = [0, 1, 2];

/** An open gate: the save may still be committed or given up. */
export function makeCommitGate(): CommitGate {
  return new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT);
}

/** Returns true when the save may be committed; it can then no longer be abandoned. */
export function passGate(gate: CommitGate): boolean {
  return Atomics.compareExchange(new Int32Array(gate), 0, UNDECIDED, COMMITTED) === UNDECIDED;
}

/** Returns true when the save will not be committed; false when the commit is already under way. */
export function closeGate(gate: CommitGate): boolean {
  return Atomics.compareExchange(new Int32Array(gate), 0, UNDECIDED, GIVEN_UP) !== COMMITTED;
}
