import type { Cause } from './notice.ts';

/** The long explanation of one cause of a notice. */
export interface CauseMeaning {
  /**
   * What happens, how Holdfast learns of it, and how much time remains. Shown by `holdfast explain
   * CAUSE`.
   */
  readonly explain: string;
  /** The one thing to change, where there is one. */
  readonly advice: string;
}

/**
 * The explanation of each cause in `CAUSES`. The facts in `CAUSES` decide the behaviour; these
 * texts are for people.
 */
export const CAUSE_MEANINGS: Readonly<Record<Cause, CauseMeaning>> = {
  sigterm: {
    explain:
      'Kubernetes sends SIGTERM for almost every reason: a deleted pod, a drain, preemption, an eviction, a node that shuts down. So do systemd and `kill`. The signal names no reason. If another notice came first, that notice is the cause. The time is `--grace`, less the time that the node is known to take.',
    advice:
      'Set `--grace` (or HOLDFAST_GRACE) to the terminationGracePeriodSeconds of the pod: a process cannot see it. If saves do not fit, raise it, or save more often.',
  },
  'ctrl-c': {
    explain:
      'A person pressed Ctrl-C (SIGINT). The first one is a notice like SIGTERM. A second one kills the trainer at once and starts no save.',
    advice: 'Nothing: the same command resumes.',
  },
  hangup: {
    explain: 'The terminal was closed, or the connection to it was lost (SIGHUP). The trainer gets the grace for a last save.',
    advice: 'Start long work under `tmux`, `nohup` or a Job.',
  },
  'gcp-preempted': {
    explain:
      'Google Cloud takes the Spot machine back. The metadata service reports this when it happens, and the machine ends 30 seconds later. A user pod on GKE gets 15 of these seconds.',
    advice:
      'A save must take well below 15 seconds, or already exist: stage saves in memory and save more often. Ship copies, because the disk may die with the node.',
  },
  'gcp-maintenance': {
    explain:
      'Google Cloud will maintain the host. Machines with accelerators end instead of moving to another host. The notice comes a minute to an hour ahead. Holdfast saves, and training continues.',
    advice: 'Nothing: the end comes as a notice of its own.',
  },
  'aws-spot': {
    explain:
      'AWS takes the Spot instance back. The metadata service names the time, two minutes ahead. A node that drains itself uses some of this time.',
    advice:
      'Let metadata reach the container (a hop limit of 2). A save must fit into about 110 seconds; ship copies, because the disk may die with the node.',
  },
  'aws-rebalance': {
    explain:
      'AWS reports that this Spot instance has a higher risk of a reclaim. The notice may come minutes to hours before the reclaim, or without one.',
    advice: 'Nothing: Holdfast saves, and training continues.',
  },
  'aws-maintenance': {
    explain: 'AWS has planned an event for this instance (a reboot, a stop, a retirement). Holdfast saves, and training continues.',
    advice: 'Move the run to another instance before the time that the event names.',
  },
  'azure-preempt': {
    explain: 'Azure takes the Spot machine back. The scheduled event `Preempt` comes about 30 seconds ahead.',
    advice: 'A save must fit into about 25 seconds, or already exist. Ship copies, because the disk may die with the node.',
  },
  'azure-terminate': {
    explain:
      'Azure deletes the machine. If the scale set enables termination notifications, the scheduled event `Terminate` comes ahead, by default by five minutes.',
    advice: 'Raise the time of the termination notification of the scale set if saves do not fit.',
  },
  'azure-maintenance': {
    explain:
      'Azure will maintain the host: a scheduled event `Freeze`, `Reboot` or `Redeploy` names this machine. Holdfast saves, and training continues.',
    advice: 'Nothing: the end comes as a notice of its own.',
  },
  preemption: {
    explain:
      'The scheduler makes room for a pod of a higher priority. It deletes the pod with its whole grace. A Job counts this as a failure unless its podFailurePolicy ignores the condition DisruptionTarget.',
    advice: 'Give the run a PriorityClass that fits it, and the Job a rule that ignores DisruptionTarget (`holdfast help exit-codes`).',
  },
  drain: {
    explain:
      '`kubectl drain`, an autoscaler or an upgrade empties the node. It evicts the pod through the API, which checks the PodDisruptionBudget first. The pod has its whole grace.',
    advice: 'A PodDisruptionBudget delays a drain; it does not prevent one. Give the Job a rule that ignores DisruptionTarget.',
  },
  suspend: {
    explain:
      'A person or a queue suspended the Job (`spec.suspend`). Kubernetes deletes its pods with their whole grace and does not count them as failed.',
    advice: 'Nothing: the run resumes with the Job.',
  },
  'node-shutdown': {
    explain:
      'The node shuts down in order. The kubelet gives its pods the time that `shutdownGracePeriod` leaves, which may be much shorter than the pod’s own grace.',
    advice:
      'Compare `shutdownGracePeriod` of the node with the time of a save: the pod’s terminationGracePeriodSeconds cannot lengthen it.',
  },
  'eviction-hard': {
    explain:
      'The node is short of memory, disk, inodes or process ids, and the kubelet evicts pods. A hard threshold leaves two seconds, whatever the grace of the pod is.',
    advice:
      'No last save fits. Request the memory and ephemeral storage that the run really uses, so that others are evicted first, and save more often. A longer grace does not help.',
  },
  'eviction-soft': {
    explain:
      'The node is short of a resource by a soft threshold. The kubelet waits `eviction-soft-grace-period` before it evicts. The pod then gets the smaller of its own grace and `eviction-max-pod-grace-period`, which is 0 by default.',
    advice: 'Set `eviction-max-pod-grace-period` on the node to more than a save takes, and request what the run really uses.',
  },
  'storage-limit': {
    explain:
      'The pod wrote more than its limit of `ephemeral-storage`, or more than the `sizeLimit` of an emptyDir. The kubelet evicts it with two seconds, and a Job counts it as a failure.',
    advice:
      'Raise the limit, keep fewer checkpoints (`--keep`), or keep the run on a persistent volume. HOLDFAST_EPHEMERAL_LIMIT lets `run` refuse a save that would cross the limit.',
  },
  pressure: {
    explain: 'The node is short of a resource, and an eviction may follow. Holdfast saves, and training continues.',
    advice: 'Request what the run really uses, so that other pods are evicted first.',
  },
  'save-requested': {
    explain:
      'A person or a tool asked for a save: SIGUSR1, SIGUSR2, or the annotation `holdfast.dev/notice=save-requested`. Training continues.',
    advice: 'Nothing.',
  },
};
