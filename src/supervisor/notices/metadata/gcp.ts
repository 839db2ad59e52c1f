import { excerpt } from '../../../core/printable.ts';
import type { Ask, Channel, MetadataService, Told } from './service.ts';
import { nonsense, unreachable } from './trouble.ts';
import type { Answer } from './answer.ts';

const FLAVOR = 'Google';
const ROOT = '/computeMetadata/v1/instance/';
const ANSWER_MS = 3000;
/**
 * The service holds the answer back this long, unless something changes. The wait is short, because
 * no news comes over a connection that has died in silence, and a reclaim leaves 30 seconds.
 */
const WAIT_SECONDS = 2;

/** Reads `instance/preempted`. */
export function readPreempted(value: string): readonly Told[] {
  if (value === 'FALSE') return [];
  if (value === 'TRUE') return [{ cause: 'gcp-preempted', deadlineMs: null, detail: 'preempted' }];
  throw nonsense(`preempted is "${excerpt(value, 40)}"`);
}

/**
 * Reads `instance/maintenance-event`. The machine migrates, or is stopped later; either is only
 * announced here.
 */
export function readMaintenance(value: string): readonly Told[] {
  if (value === 'NONE') return [];
  if (/^(MIGRATE|TERMINATE)_ON_HOST_MAINTENANCE$/.test(value)) {
    return [{ cause: 'gcp-maintenance', deadlineMs: null, detail: value.toLowerCase().replaceAll('_', ' ') }];
  }
  throw nonsense(`maintenance-event is "${excerpt(value, 40)}"`);
}

/**
 * The metadata service of Google Cloud. Every answer must carry the header that every question
 * carries.
 */
export function openGcp(ask: Ask): MetadataService {
  async function get(path: string, signal: AbortSignal, waitMs = 0): Promise<Answer> {
    const question = { path: ROOT + path, headers: { 'Metadata-Flavor': FLAVOR }, timeoutMs: ANSWER_MS + waitMs };
    const answer = await ask(question, signal);
    if (answer.headers.get('metadata-flavor') !== FLAVOR) throw nonsense(`no header Metadata-Flavor: ${FLAVOR}`);
    if (answer.status !== 200 && answer.status !== 404) throw unreachable(`status ${answer.status}`);
    return answer;
  }
  return {
    async recognise(signal) {
      const { status } = await get('id', signal);
      if (status !== 200) throw nonsense('the instance has no id');
    },
    async nodeKind(signal) {
      const preemptible = await get('scheduling/preemptible', signal);
      if (preemptible.status !== 200 || preemptible.body.trim() !== 'TRUE') return null;
      // Nodes of GKE know the cluster that they belong to.
      const cluster = await get('attributes/cluster-name', signal);
      return cluster.status === 200 ? 'gke-spot' : 'gce-spot';
    },
    channels: [follow('preempted', readPreempted), follow('maintenance-event', readMaintenance)],
  };

  /** Asks at once the first time; then for the next change, by the tag of the last answer. */
  function follow(path: string, read: (value: string) => readonly Told[]): Channel {
    let etag: string | null = null;
    return async (signal) => {
      const known = etag;
      // Waits for a change only after a good answer; after an error it asks for the value at once.
      etag = null;
      const wait = known === null ? '' : `?wait_for_change=true&timeout_sec=${WAIT_SECONDS}&last_etag=${encodeURIComponent(known)}`;
      const answer = await get(path + wait, signal, known === null ? 0 : WAIT_SECONDS * 1000);
      // Some machines lack this value, and announce nothing here.
      const told = answer.status === 404 ? [] : read(answer.body.trim());
      etag = answer.status === 404 ? null : tagOf(answer);
      return { told, isHeldBack: etag !== null };
    };
  }
}

function tagOf({ headers }: Answer): string | null {
  const etag = headers.get('etag');
  return etag !== undefined && /^[\w-]{1,100}$/.test(etag) ? etag : null;
}
