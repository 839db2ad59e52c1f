import { request } from 'node:http';
import { keyOf } from '../../kube/api/api-object.ts';
import type { KubeApi } from '../../kube/api/kube-api.ts';
import { textAt } from '../../kube/objects/fields.ts';
import type { ReadStatus } from './progress-reader.ts';

const MOST_BYTES = 256 * 1024;
const ANSWER_MS = 3000;

/** Asks through the API server, which works from anywhere. */
export function throughProxy(api: KubeApi): ReadStatus {
  return async (pod, port, { signal }) => {
    const outcome = await api.proxyGet(keyOf(pod), { port, path: '/status', mostBytes: MOST_BYTES, signal });
    return outcome.ok ? outcome.value : null;
  };
}

/** Asks the pod itself, which works in the cluster alone, and costs the API server nothing. */
export const directly: ReadStatus = async (pod, port, { signal }) => {
  const host = textAt(pod, 'status', 'podIP');
  return host === null ? null : get({ host, port, signal: AbortSignal.any([signal, AbortSignal.timeout(ANSWER_MS)]) });
};

function get(target: { readonly host: string; readonly port: number; readonly signal: AbortSignal }): Promise<string | null> {
  return new Promise((resolve, reject) => {
    const sent = request({ ...target, path: '/status', agent: false }, (response) => {
      let text = '';
      response.setEncoding('utf8');
      response.on('data', (chunk: string) => {
        text += chunk;
        if (text.length > MOST_BYTES) sent.destroy(new Error('the status is too long'));
      });
      response.on('end', () => resolve(response.statusCode === 200 ? text : null));
      response.on('error', reject);
    });
    sent.on('error', reject);
    sent.end();
  });
}
