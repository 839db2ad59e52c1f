import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { causeGrace, type GraceCause } from '../src/domain/grace/cause-grace.ts';
import { DEFAULT_KUBELET, type KubeletGrace, type PodGrace } from '../src/domain/grace/pod-grace.ts';
import { parseDocuments } from '../src/kube/objects/parse-documents.ts';
import { podGraceOf } from '../src/kube/objects/grace-facts.ts';
import { templatesOf } from '../src/kube/objects/templates.ts';
import { ROOT } from './support/run-process.ts';

/**
 * The requests of the measured pods and the grace of their nodes, as the page states above its
 * table.
 */
const OWN_SECONDS = 12;
const WHERE_NODES_DECIDE = 60;
const GRANTED: KubeletGrace = { ...DEFAULT_KUBELET, shutdownSeconds: 8, evictionMaxPodSeconds: 6 };

interface Meant {
  readonly cause: GraceCause;
  readonly deleteSeconds?: number;
  readonly isOfNode?: boolean;
}

/**
 * The cause of each row of the tables in `grace`; null: the cause does not end the pod, so there
 * are no seconds to measure.
 */
const ROWS: Readonly<Record<string, Meant | null>> = {
  'the pod is deleted, with its grace': { cause: 'delete' },
  'the pod is deleted, with a grace of 3 s': { cause: 'delete', deleteSeconds: 3 },
  'the pod is deleted by force, without grace': { cause: 'force-delete' },
  'the node is drained (eviction API)': { cause: 'drain' },
  'the node is drained, against a PodDisruptionBudget that gives way later': { cause: 'drain' },
  'the node gets a taint with NoExecute': { cause: 'taint' },
  'the Job is suspended, and resumed later': { cause: 'suspend' },
  'a pod of higher priority takes its place (scheduler)': { cause: 'preemption' },
  'the pod is deleted, and the Job goes when it is over (TTL 0)': { cause: 'delete' },
  'a critical pod takes its place (kubelet)': { cause: 'critical-pod' },
  'the machine is shut down (graceful node shutdown)': { cause: 'shutdown', isOfNode: true },
  'the trainer takes more memory than its limit': { cause: 'oom' },
  'its emptyDir grows above its sizeLimit': { cause: 'storage-limit' },
  'it writes more to the disk of its node than its limit of ephemeral-storage': { cause: 'storage-limit' },
  'the node’s disk is nearly full (hard eviction)': { cause: 'hard-pressure' },
  'the node’s memory is short (soft eviction)': { cause: 'soft-pressure', isOfNode: true },
  'its pod comes to a node under disk pressure (rejected)': null,
  'the kubelet is away for a while, and comes back in time': null,
  'the kubelet is away until its pods are given up, and comes back': { cause: 'taint' },
  'the node loses its power, and is declared out of service': { cause: 'node-lost' },
  'the node’s object is deleted, while its kubelet runs on': { cause: 'node-deleted' },
};

const page = readFileSync(join(ROOT, 'docs/kubernetes-notes.md'), 'utf8');

/** The rows of the recorded tables: the cause and the measured seconds. */
const measured = page
  .split('<!-- recorded ')
  .filter((part) => /^(causes|node loss), .*begin -->/.test(part))
  .flatMap((part) => part.split('\n').filter((line) => line.startsWith('| ') && !line.startsWith('| cause ')))
  .map((line) => line.split('|').map((cell) => cell.trim()))
  .map(([, cause = '', seconds = '']) => ({ cause, seconds }));

function podWith({ deleteSeconds, isOfNode = false }: Meant): PodGrace {
  const graceSeconds = isOfNode ? WHERE_NODES_DECIDE : OWN_SECONDS;
  const manifest = `kind: Job\nmetadata: { name: train }\nspec: { template: { spec: { terminationGracePeriodSeconds: ${graceSeconds}, containers: [{ name: trainer, command: [python, train.py] }] } } }\n`;
  const [object] = parseDocuments(manifest, 'manifest').objects;
  const [template] = object === undefined ? [] : templatesOf(object);
  if (template === undefined) throw new Error('the manifest makes pods');
  return podGraceOf(template.spec, { kubelet: GRANTED, deleteSeconds: deleteSeconds ?? null });
}

describe('grace matches the measurements on a real cluster', () => {
  it('the page has its tables, and every row of them has its line in grace', () => {
    expect(measured.length).toBeGreaterThan(20);
    expect([...new Set(measured.map(({ cause }) => cause))].sort()).toEqual(Object.keys(ROWS).sort());
  });

  it.each(measured.map(({ cause, seconds }, index) => [index + 1, cause, seconds] as const))(
    'row %i, %s: %s seconds',
    (_, cause, seconds) => {
      const meant = ROWS[cause];
      if (meant === null || meant === undefined) return expect(seconds).toBe('');
      const { graceMs, isTold } = causeGrace(meant.cause, podWith(meant));
      expect(isTold ? (graceMs / 1000).toFixed(1) : 'none').toBe(seconds);
    },
  );
});
