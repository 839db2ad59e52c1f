import type { SchedulerNode } from '../objects/node.ts';
import type { HostPort } from '../objects/pod.ts';
import { type Columns, PODS } from './columns.ts';
import type { CountedPod } from './placed-pod.ts';

const ANY_ADDRESS = '0.0.0.0';

/** A node and the pods on it, with sums that are kept while pods come and go. */
export class NodeState {
  readonly node: SchedulerNode;
  readonly allocatable: readonly number[];
  readonly maxPods: number;
  readonly used: number[];
  /** The sums for the score, where a container that asks for nothing counts for a little. */
  assumedCpu = 0;
  assumedMemory = 0;
  readonly pods: CountedPod[] = [];
  #ports: HostPort[] | null = null;

  constructor(node: SchedulerNode, columns: Columns) {
    this.node = node;
    this.allocatable = columns.spread(node.allocatable);
    this.maxPods = node.allocatable.get(PODS) ?? 0;
    this.used = this.allocatable.map(() => 0);
  }

  add(counted: CountedPod): void {
    this.pods.push(counted);
    this.#count(counted, 1);
  }

  /** Removes a pod; it must be there. */
  remove(counted: CountedPod): void {
    const at = this.pods.indexOf(counted);
    if (at < 0) throw new Error(`${counted.pod.key} is not on ${this.node.name}`);
    this.pods.splice(at, 1);
    this.#count(counted, -1);
  }

  /** What the node has of a column in all. */
  capacity(column: number): number {
    return this.allocatable[column] ?? 0;
  }

  /** What the pods ask of a column together. */
  usage(column: number): number {
    return this.used[column] ?? 0;
  }

  /** Whether a port is taken. An address that stands for all takes the port at every address. */
  isTaken({ ip, protocol, port }: HostPort): boolean {
    if (this.#ports === null) this.#ports = this.pods.flatMap(({ pod }) => pod.hostPorts);
    return this.#ports.some(
      (taken) => taken.port === port && taken.protocol === protocol && (ip === ANY_ADDRESS || taken.ip === ANY_ADDRESS || taken.ip === ip),
    );
  }

  #count({ pod, columns, amounts }: CountedPod, sign: 1 | -1): void {
    for (let index = 0; index < columns.length; index += 1) {
      const column = columns[index] as number;
      while (this.used.length <= column) this.used.push(0);
      this.used[column] = (this.used[column] as number) + sign * (amounts[index] as number);
    }
    this.assumedCpu += sign * pod.requests.assumedCpu;
    this.assumedMemory += sign * pod.requests.assumedMemory;
    if (pod.hostPorts.length > 0) this.#ports = null;
  }
}
