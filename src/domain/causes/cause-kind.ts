/** The description of one cause that ends a pod. */
export interface CauseKind {
  /**
   * `interruption`: the program did not cause it. `limit`: the pod exceeded a limit in its
   * manifest. `program`: its own error. `never-ran`: nothing started. `none`: not interrupted, or
   * unknown.
   */
  readonly family: 'interruption' | 'limit' | 'program' | 'never-ran' | 'none';
  /** A clause that can follow a name: "preempted by a pod of higher priority". */
  readonly title: string;
  readonly explain: string;
}
