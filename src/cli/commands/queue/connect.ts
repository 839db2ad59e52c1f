import type { Clock } from '../../../core/clock.ts';
import { HoldfastError } from '../../../core/errors.ts';
import { type Parsed, parsed, refused } from '../../../core/parsed.ts';
import { excerpt, printable } from '../../../core/printable.ts';
import { withoutUser } from '../../../core/secrets.ts';
import { parseQueueName } from '../../../domain/queue/names.ts';
import type { OptionTable } from '../../frame/command.ts';
import { didYouMean } from '../../frame/suggest.ts';
import { someText } from '../../frame/option-values.ts';
import type { QueueClient } from '../../../queue/client/client.ts';

const DEFAULT_URL = 'http://127.0.0.1:9500';
const TRIES = 4;
const LONGEST_TOKEN = 4096;

/** The options of every command that speaks with a queue server. */
export const CONNECTION_OPTIONS = {
  url: {
    kind: 'value',
    value: 'URL',
    parse: parseUrl,
    description: `The address of the server. Without it: HOLDFAST_QUEUE_URL, or ${DEFAULT_URL}`,
  },
  'token-file': {
    kind: 'value',
    value: 'FILE',
    parse: someText('the file'),
    description: 'The file with the token. Without it: HOLDFAST_QUEUE_TOKEN_FILE',
  },
} as const satisfies OptionTable;

/** What the connection is made from. */
export interface ConnectionWishes {
  readonly values: { readonly url: string | null; readonly 'token-file': string | null };
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly clock: Clock;
}

/** Finds the server and the token, and closes the connection when the work is done. */
export async function withClient<T>({ values, env, clock }: ConnectionWishes, work: (client: QueueClient) => Promise<T>): Promise<T> {
  const { QueueClient } = await import('../../../queue/client/client.ts');
  const client = new QueueClient({ url: urlOf(values.url, env), token: await tokenOf(values['token-file'], env), clock, tries: TRIES });
  try {
    return await work(client);
  } catch (thrown) {
    throw await withSuggestion(thrown, client);
  } finally {
    client.close();
  }
}

/** The address of the server, by option, environment or default. */
export function urlOf(given: string | null, env: ConnectionWishes['env']): string {
  if (given !== null) return given;
  const setting = env['HOLDFAST_QUEUE_URL'] ?? '';
  if (setting === '') return DEFAULT_URL;
  const url = parseUrl(setting);
  if (url.ok) return url.value;
  throw new HoldfastError('SETTING_INVALID', { message: `HOLDFAST_QUEUE_URL: ${url.reason}` });
}

/** The token by option or environment, or null. */
export async function tokenOf(given: string | null, env: ConnectionWishes['env']): Promise<string | null> {
  const path = given ?? env['HOLDFAST_QUEUE_TOKEN_FILE'] ?? '';
  return path === '' ? null : readTokenFile(path);
}

/** Reads a token: the first line of a small file. */
export async function readTokenFile(path: string): Promise<string> {
  const { readRegularFile, whyUnreadable } = await import('../../../core/read-regular.ts');
  let text: string;
  try {
    text = readRegularFile(path, LONGEST_TOKEN).toString('utf8');
  } catch (thrown) {
    const message = `the token file ${printable(path)} cannot be read: ${whyUnreadable(thrown)}`;
    throw new HoldfastError('PATH_NOT_READABLE', { message, cause: thrown });
  }
  const token = text.split('\n', 1)[0]?.trim() ?? '';
  if (token.length >= 16 && /^[\x21-\x7e]+$/.test(token)) return token;
  throw new HoldfastError('SETTING_INVALID', {
    message: `${printable(path)} holds no token: its first line must have at least 16 letters, digits or signs`,
    hint: 'Make one with `openssl rand -hex 32`.',
  });
}

/** Reads the name of a queue as an operand. */
export function queueName(text: string): string {
  const name = parseQueueName(text);
  if (name.ok) return name.value;
  throw new HoldfastError('USAGE', { message: name.reason });
}

/** The path of a queue in the protocol. */
export function queuePath(queue: string, rest = ''): string {
  return `/v1/queues/${encodeURIComponent(queue)}${rest}`;
}

function parseUrl(text: string): Parsed<string> {
  const url = URL.parse(text);
  if (url === null || (url.protocol !== 'http:' && url.protocol !== 'https:')) {
    return refused(`"${excerpt(withoutUser(text), 60)}" is not an address such as http://queue:9500`);
  }
  return parsed(`${url.origin}${url.pathname.replace(/\/+$/, '')}`);
}

/** Adds the queue with the closest name to an error about an unknown queue. */
export async function withSuggestion(thrown: unknown, client: QueueClient): Promise<unknown> {
  if (!(thrown instanceof HoldfastError) || thrown.code !== 'QUEUE_UNKNOWN') return thrown;
  const name = /"(.*)"/.exec(thrown.message)?.[1] ?? '';
  const { queues } = await client.json<{ queues: string[] }>('GET', '/v1/queues').catch(() => ({ queues: [] }));
  const hint =
    queues.length === 0
      ? 'The server has no queues. `holdfast queue push` makes one.'
      : `The queues are: ${queues.slice(0, 20).join(', ')}.`;
  return new HoldfastError('QUEUE_UNKNOWN', { message: `${thrown.message}.${didYouMean(name, queues)}`, hint, cause: thrown });
}
