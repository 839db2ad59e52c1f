/** The path of the pod template in an object of a kind; empty for a pod, which is its own. */
export function templatePath(kind: string): string {
  switch (kind) {
    case 'Pod':
      return '';
    case 'CronJob':
      return 'spec.jobTemplate.spec.template.';
    case 'JobSet':
      return 'spec.replicatedJobs[*].template.spec.template.';
    case 'PyTorchJob':
      return 'spec.pytorchReplicaSpecs.*.template.';
    case 'TFJob':
      return 'spec.tfReplicaSpecs.*.template.';
    case 'LeaderWorkerSet':
      return 'spec.leaderWorkerTemplate.workerTemplate.';
    case 'RayJob':
      return 'spec.rayClusterSpec.workerGroupSpecs[*].template.';
    default:
      return 'spec.template.';
  }
}
