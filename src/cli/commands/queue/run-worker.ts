import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import type { Clock } from '../../../core/clock.ts';
import { QueueClient } from '../../../queue/client/client.ts';
import { workItems, type WorkReport } from '../../../queue/work/work-items.ts';
import type { Output } from '../../output/output.ts';
import { withSuggestion } from './connect.ts';

/** The settings of `work`. */
export interface WorkFacts {
  readonly connection: { readonly url: string; readonly token: string | null };
  readonly queue: string;
  readonly command: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly clock: Clock;
  readonly output: Output;
  readonly signal: AbortSignal;
  readonly values: { readonly grace: number; readonly ahead: number; readonly forever: boolean };
}

/** Works until nothing is left; waits for a server that is unreachable. */
export async function runWorker({ connection, queue, command, env, clock, output, signal, values }: WorkFacts): Promise<WorkReport> {
  const client = new QueueClient({ ...connection, clock, tries: Infinity });
  const node = env['NODE_NAME'] ?? env['HOLDFAST_NODE'] ?? hostname();
  const session = { id: randomUUID(), node, process: `${env['POD_NAME'] ?? hostname()}/${process.pid}` };
  try {
    return await workItems(
      {
        client,
        queue,
        session,
        command,
        env,
        clock,
        most: values.ahead,
        graceMs: values.grace,
        isForever: values.forever,
        say: (text) => output.note(`holdfast: ${text}`),
        onProgress: (done) => output.progress.update({ phase: 'done', done, total: 0, unit: 'items', current: queue }),
      },
      signal,
    );
  } catch (thrown) {
    throw await withSuggestion(thrown, client);
  } finally {
    client.close();
  }
}
