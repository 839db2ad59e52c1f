/** A taint as the API writes it. */
export interface Taint {
  readonly key: string;
  readonly value?: string;
  readonly effect: 'NoSchedule' | 'PreferNoSchedule' | 'NoExecute';
}

export interface NodeOptions {
  /** The size of the disk that holds its images, containers, logs and emptyDirs. */
  readonly diskMiB?: number;
  readonly labels?: Readonly<Record<string, string>>;
  readonly taints?: readonly Taint[];
  /** What the node offers beside processors and memory: `{ 'nvidia.com/gpu': 4 }`. */
  readonly resources?: Readonly<Record<string, number>>;
  /** When the kubelet evicts: `{ 'nodefs.available': '300Mi' }`. */
  readonly evictionHard?: Readonly<Record<string, string>>;
  /** How long pods have when the machine is shut down; without it a kubelet does not delay a shutdown. */
  readonly shutdownGraceSeconds?: number;
  /** Any other fields of the kubelet's configuration. */
  readonly kubelet?: Readonly<Record<string, unknown>>;
}

/** An image of one layer, with what a folder holds. */
export interface ImageSource {
  /** The whole name with a tag: `holdfast.test/base:1`. */
  readonly name: string;
  readonly entrypoint?: readonly string[];
  /** A folder that is there already, which is read and not changed; or how one is filled that is the cluster's own, and goes with it whatever happens. */
  readonly content: string | ((folder: string) => Promise<void> | void);
}

export interface ClusterOptions {
  readonly nodes?: readonly NodeOptions[];
  /** Images that the nodes have, beside the one with busybox. */
  readonly images?: readonly ImageSource[];
  /** More flags, without the dashes: timers of node loss, for example, and how long pods tolerate it. */
  readonly controllerManager?: Readonly<Record<string, string>>;
  readonly apiServer?: Readonly<Record<string, string>>;
  /** Lives on when this process ends, until it is taken down. */
  readonly isKept?: boolean;
  readonly signal?: AbortSignal;
}

export const DEFAULT_DISK_MIB = 1024;
/** Quiet unless a test wants pressure: a small disk is always nearly full by the kubelet's own thresholds. */
export const DEFAULT_EVICTION: Readonly<Record<string, string>> = { 'nodefs.available': '32Mi', 'imagefs.available': '32Mi' };

export function flags(values: Readonly<Record<string, string>>): string[] {
  return Object.entries(values).map(([name, value]) => `--${name}=${value}`);
}
