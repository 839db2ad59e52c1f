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
  /** Extra resources of the node, beside processors and memory: `{ 'nvidia.com/gpu': 4 }`. */
  readonly resources?: Readonly<Record<string, number>>;
  /** When the kubelet evicts: `{ 'nodefs.available': '300Mi' }`. */
  readonly evictionHard?: Readonly<Record<string, string>>;
  /**
   * The grace of pods at a shutdown of the machine. Without it the kubelet does not delay the
   * shutdown.
   */
  readonly shutdownGraceSeconds?: number;
  /** Any other fields of the kubelet's configuration. */
  readonly kubelet?: Readonly<Record<string, unknown>>;
}

/** An image of one layer with the content of a folder. */
export interface ImageSource {
  /** The whole name with a tag: `holdfast.test/base:1`. */
  readonly name: string;
  readonly entrypoint?: readonly string[];
  /**
   * An existing folder, which is only read; or a function that fills a new one, which is removed
   * with the cluster.
   */
  readonly content: string | ((folder: string) => Promise<void> | void);
}

/** The releases of Kubernetes that a cluster can run. The first one is built for all suites. */
export const RELEASES = ['1.35', '1.37'] as const;
export type Release = (typeof RELEASES)[number];

export interface ClusterOptions {
  readonly release?: Release;
  /**
   * Feature gates of the control plane; kubelets keep their defaults. A gate that the release does
   * not know stops a component.
   */
  readonly gates?: Readonly<Record<string, boolean>>;
  /** APIs that are off by default: `scheduling.k8s.io/v1beta1`. */
  readonly apis?: readonly string[];
  /** Without any, no pod ever runs: the test writes what kubelets would. */
  readonly nodes?: readonly NodeOptions[];
  /** More images for the nodes, beside the one with busybox. */
  readonly images?: readonly ImageSource[];
  /**
   * More flags without the dashes, such as the timers of node loss and how long pods tolerate it.
   */
  readonly controllerManager?: Readonly<Record<string, string>>;
  readonly apiServer?: Readonly<Record<string, string>>;
  /** Whether the cluster outlives this process, until it is taken down. */
  readonly isKept?: boolean;
  readonly signal?: AbortSignal;
}

export const DEFAULT_DISK_MIB = 1024;
/**
 * By the kubelet's own thresholds a small disk is always nearly full. These defaults avoid pressure
 * that the test does not ask for.
 */
export const DEFAULT_EVICTION: Readonly<Record<string, string>> = { 'nodefs.available': '32Mi', 'imagefs.available': '32Mi' };

export function flags(values: Readonly<Record<string, string>>): string[] {
  return Object.entries(values).map(([name, value]) => `--${name}=${value}`);
}
