import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { whenReady } from '../cluster/node.ts';
import { type Cause, NO_MARKS, disruptedBy, keepOff, nodeNamed, oncePlaced } from './cause.ts';
import { greedyPod } from './greedy-pod.ts';
import { MEMORY_IS_SHORT } from './memory-pressure.ts';
import {
  NEARLY_FULL_MIB,
  PODS,
  whenNextPodIsPlaced,
  whenNodeIsNotReady,
  whenNodeIsReady,
  whenPressureIsOver,
  whenUnderPressure,
} from './objects.ts';

/**
 * The grace at a shutdown of the machine or when memory is short: less than the pods ask for, and
 * enough for a save.
 */
export const GRANTED_SECONDS = 30;
/** The grace of a hard eviction. The supervisor knows it from its setting for the eviction line. */
const HARD_EVICTION_SECONDS = 2;

/** Causes that a node's kubelet or kernel starts by itself. */
export const KUBELET_CAUSES: readonly Cause[] = [
  {
    name: 'critical',
    title: 'a critical pod takes its place (kubelet)',
    exitWithZero: 'complete',
    exitCodes: [143],
    marks: disruptedBy('TerminationByKubelet', 'Preempting'),
    grace: 'pod',
    forms: ['tree'],
    async interrupt({ cluster, node }) {
      await cluster.api.create(PODS, greedyPod(node, { priorityClassName: 'system-node-critical', nodeName: node }));
    },
    async relieve({ cluster, node, job }) {
      await whenNextPodIsPlaced(cluster, job, node);
      await cluster.api.remove(`${PODS}/greedy-${node}?gracePeriodSeconds=0`);
    },
  },
  {
    name: 'shutdown',
    title: 'the machine is shut down (graceful node shutdown)',
    exitWithZero: 'complete',
    exitCodes: [143],
    marks: disruptedBy('TerminationByKubelet', 'Terminated'),
    grace: 'node',
    forms: ['tree', 'binary'],
    otherControls: ['untrapped'],
    // A pod cannot see its node's settings, so this annotation states them.
    annotations: { 'holdfast.dev/grace': `${GRANTED_SECONDS}s` },
    believesSeconds: GRANTED_SECONDS,
    async interrupt({ cluster, node }) {
      await nodeNamed(cluster, node).announceShutdown(true);
      await whenNodeIsNotReady(cluster, node);
    },
    async relieve({ cluster, node, job }) {
      await whenNextPodIsPlaced(cluster, job, node);
      await nodeNamed(cluster, node).announceShutdown(false);
      await whenNodeIsReady(cluster, node);
    },
  },
  {
    name: 'oom',
    title: 'the trainer takes more memory than its limit',
    exitWithZero: 'complete',
    exitCodes: [137],
    marks: NO_MARKS,
    grace: 'none',
    forms: ['binary', 'tree'],
    async interrupt(run) {
      await keepOff(run);
      writeFileSync(join(run.shared, 'eat'), '');
    },
    relieve: oncePlaced,
  },
  {
    name: 'size-limit',
    title: 'its emptyDir grows above its sizeLimit',
    tmpLimit: '32Mi',
    exitWithZero: 'complete',
    exitCodes: [143, 137],
    marks: { ...NO_MARKS, podReason: 'Evicted' },
    grace: 'short',
    forms: ['binary'],
    async interrupt(run) {
      await keepOff(run);
      writeFileSync(join(run.shared, 'fill'), '');
    },
    relieve: oncePlaced,
  },
  {
    name: 'ephemeral-storage',
    title: 'it writes more to the disk of its node than its limit of ephemeral-storage',
    exitWithZero: 'complete',
    exitCodes: [143, 137],
    marks: { ...NO_MARKS, podReason: 'Evicted' },
    grace: 'short',
    forms: ['tree'],
    async interrupt(run) {
      await keepOff(run);
      writeFileSync(join(run.shared, 'fill-more'), '');
    },
    relieve: oncePlaced,
  },
  {
    name: 'disk-pressure',
    title: 'the node’s disk is nearly full (hard eviction)',
    exitWithZero: 'complete',
    exitCodes: [143, 137],
    marks: disruptedBy('TerminationByKubelet', 'Evicted'),
    grace: 'short',
    forms: ['binary'],
    believesSeconds: HARD_EVICTION_SECONDS,
    async interrupt({ cluster, node }) {
      await nodeNamed(cluster, node).fillDisk(NEARLY_FULL_MIB);
      await whenUnderPressure(cluster, node, 'disk');
    },
    async relieve({ cluster, node, job }) {
      await whenNextPodIsPlaced(cluster, job, node);
      await nodeNamed(cluster, node).freeDisk();
      await whenPressureIsOver(cluster, node, 'disk');
      await nodeNamed(cluster, node).importImages();
    },
  },
  {
    name: 'memory-pressure',
    title: 'the node’s memory is short (soft eviction)',
    exitWithZero: 'complete',
    exitCodes: [143],
    marks: disruptedBy('TerminationByKubelet', 'Evicted'),
    grace: 'node',
    forms: ['tree'],
    async interrupt({ cluster, node, manner }) {
      const kubelet = nodeNamed(cluster, node);
      await kubelet.stopKubelet();
      const granted = manner === 'stubborn' ? {} : { evictionMaxPodGracePeriod: GRANTED_SECONDS };
      kubelet.startKubelet({ ...MEMORY_IS_SHORT, ...granted });
      await whenUnderPressure(cluster, node, 'memory');
    },
    async relieve({ cluster, node, job }) {
      await whenNextPodIsPlaced(cluster, job, node);
      const kubelet = nodeNamed(cluster, node);
      await kubelet.stopKubelet();
      kubelet.startKubelet();
      await whenPressureIsOver(cluster, node, 'memory');
      await whenReady(cluster.api, kubelet);
    },
  },
];
