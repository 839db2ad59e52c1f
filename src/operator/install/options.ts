/** What the printed manifests depend on. */
export interface InstallOptions {
  /** Where the operator itself runs. */
  readonly namespace: string;
  /** The operator's image, as the kubelet pulls it. */
  readonly image: string;
  /** The namespace whose jobs it runs; null: all. */
  readonly watchNamespace: string | null;
}

/** The name of everything in the operator's namespace. */
export const NAME = 'holdfast-operator';
/** The namespace of the operator, unless another one is given. */
export const DEFAULT_NAMESPACE = 'holdfast-system';
/** The port of `/healthz`, `/readyz` and `/metrics`. */
export const METRICS_PORT = 9480;
/** The user and the group of the operator's process: `nonroot` of the usual base images. */
export const USER = 65_532;

/** The labels of everything that is printed. */
export const LABELS = { 'app.kubernetes.io/name': NAME, 'app.kubernetes.io/part-of': 'holdfast' } as const;
/** The labels by which the Deployment, the Service and the policies find the operator's pods. */
export const POD_SELECTOR = { 'app.kubernetes.io/name': NAME, 'app.kubernetes.io/component': 'operator' } as const;

/**
 * The name of what has no namespace, and of the Lease: with the watched namespace in it, so that
 * operators for two namespaces do not overwrite each other's.
 */
export function clusterName(watchNamespace: string | null): string {
  return watchNamespace === null ? NAME : `${NAME}-${watchNamespace}`;
}
