/**
 * Between the one who gives a save up and the thread that commits it: the first to come decides. Whoever closes the gate knows that nothing
 * will be committed, and need not wait for a thread that waits for a disk.
 */
export type CommitGate = SharedArrayBuffer;

const [UNDECIDED, COMMITTED, GIVEN_UP] = [0, 1, 2];

export function makeCommitGate(): CommitGate {
  return new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT);
}

/** True when the save may be committed, which nobody can prevent any more. */
export function passGate(gate: CommitGate): boolean {
  return Atomics.compareExchange(new Int32Array(gate), 0, UNDECIDED, COMMITTED) === UNDECIDED;
}

/** True when the save will not be committed; false when it is being committed already. */
export function closeGate(gate: CommitGate): boolean {
  return Atomics.compareExchange(new Int32Array(gate), 0, UNDECIDED, GIVEN_UP) !== COMMITTED;
}
