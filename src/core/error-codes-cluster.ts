import { EXIT } from './exit-codes.ts';

/** Errors of reading clusters, dumps and manifests; a part of the table in error-codes.ts. */
export const CLUSTER_ERROR_CODES = {
  KUBECONFIG_NOT_USABLE: {
    exit: EXIT.noInput,
    title: 'No cluster is configured',
    explain:
      'The kubeconfig is missing or broken, it lacks the named context, or the server refused its credentials. Holdfast looks where kubectl looks: `--kubeconfig`, KUBECONFIG, ~/.kube/config, the service account of the pod. With `-f` no cluster is needed.',
  },
  CLUSTER_UNREACHABLE: {
    exit: EXIT.unavailable,
    title: 'The API server cannot be reached',
    explain:
      'The connection failed or timed out, or the server answered with a temporary error. The message carries the address and the reason. `kubectl --context=… version` asks the same server.',
  },
  CLUSTER_FORBIDDEN: {
    exit: EXIT.noInput,
    title: 'A permission is missing in the cluster',
    explain:
      'The user of the kubeconfig may not read an object that the command needs; the message names the verb, the resource and the namespace. Holdfast only reads: `get` and `list` on pods, events, jobs and nodes are enough. Where the other objects are enough for an answer, Holdfast answers and names the forbidden ones.',
  },
  OPERATOR_ADDRESS_REFUSED: {
    exit: EXIT.usage,
    title: 'The operator cannot listen there',
    explain:
      'The address of `--listen` belongs to another machine, or another process listens there. The operator was not started. Without its health and metrics, its Deployment would restart it for ever.',
  },
  OPERATOR_IMAGE_MISSING: {
    exit: EXIT.usage,
    title: 'The operator needs an image',
    explain:
      'No image of the operator is published yet, so `holdfast operator install` has no default for `--image`. `npm run build:image` makes one as an archive in the OCI layout, without Docker. Push it to a registry that your nodes can reach, for example with `skopeo copy oci-archive:dist/holdfast-image.tar docker://…`, and give its name to `--image`.',
  },
  OBJECT_NOT_FOUND: {
    exit: EXIT.noInput,
    title: 'There is no such object',
    explain:
      'Neither the cluster nor the input of `-f` has an object of that kind and name. A deleted pod takes its status with it; its Job, its events and the ledger of the run may still exist.',
  },
  CLUSTERS_MIXED: {
    exit: EXIT.noInput,
    title: 'The input mixes two clusters',
    explain:
      'Two snapshots were given, or one node or namespace appears with two uids. An answer about both as one cluster would be wrong. Give one snapshot at a time; `holdfast whatif snapshot` makes one.',
  },
  DUMP_NOT_READABLE: {
    exit: EXIT.noInput,
    title: 'The input holds no Kubernetes object',
    explain:
      'The input is not JSON or YAML with Kubernetes objects: it may be a broken file, or a template that was not rendered. The message names the first problem with its line. If only a part is broken, Holdfast names it, judges the rest, and exits with 2.',
  },
} as const;
