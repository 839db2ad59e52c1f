import { parseBytes, type Bytes } from '../../../core/bytes.ts';
import { type Millis, parseDuration } from '../../../core/duration.ts';
import { EXIT, type ExitCode } from '../../../core/exit-codes.ts';
import { type Parsed, refused } from '../../../core/parsed.ts';
import { excerpt } from '../../../core/printable.ts';
import { LONGEST_LEASE_MS, SHORTEST_LEASE_MS } from '../../../domain/queue/lease-times.ts';
import { defineCommand } from '../../frame/command.ts';
import { someText, wholeNumber } from '../../frame/option-values.ts';
import { parseListen } from '../../frame/listen-address.ts';

const LARGEST_ITEM = 16 * 2 ** 20;

/** The command `holdfast queue serve`. */
export const serve = defineCommand({
  description:
    'Serves queues over HTTP until Ctrl-C or SIGTERM. With a SQLite file it needs nothing else; with PostgreSQL several servers may share one database. Every acknowledged change survives a power cut. If a server ends or is killed, workers connect to the next one, and all leases are extended by the downtime.',
  operand: null,
  options: {
    db: {
      kind: 'value',
      value: 'PLACE',
      parse: someText('the place'),
      description: 'A SQLite file on a local disk, or postgres://USER@HOST/DATABASE (the password in PGPASSWORD or PGPASSFILE)',
      default: 'queue.db',
    },
    listen: {
      kind: 'value',
      value: 'ADDRESS',
      parse: parseListen,
      description: 'Host and port, such as 0.0.0.0:9500; any address that is not loopback needs --token-file',
      default: '127.0.0.1:9500',
    },
    'token-file': {
      kind: 'value',
      value: 'FILE',
      parse: someText('the file'),
      description: 'The token of owners, which allows everything; by default from HOLDFAST_QUEUE_TOKEN_FILE',
    },
    'worker-token-file': {
      kind: 'value',
      value: 'FILE',
      parse: someText('the file'),
      description: 'A token that may only lease items, hand in results, and read counts and metrics',
    },
    lease: {
      kind: 'value',
      value: 'DURATION',
      parse: parseLease,
      description: 'A lease that is not renewed ends after this',
      default: '30s',
    },
    tries: {
      kind: 'value',
      value: 'COUNT',
      parse: wholeNumber('a number of tries', 1),
      description: 'An item fails for good after this many errors; interruptions do not count',
      default: '3',
    },
    poison: {
      kind: 'value',
      value: 'COUNT',
      parse: wholeNumber('a number of deaths', 1),
      description: 'An item is set aside after this many unexplained deaths of workers, on two nodes or in as many processes',
      default: '5',
    },
    'max-item': {
      kind: 'value',
      value: 'SIZE',
      parse: parseItemSize,
      description: 'The largest value, result or progress',
      default: '1MiB',
    },
    connections: {
      kind: 'value',
      value: 'COUNT',
      parse: wholeNumber('a number of connections', 1),
      description:
        'The most connections, and at most three quarters of the files that may be open (ulimit -n). A new one closes the longest idle one',
      default: '4096',
    },
    'watch-pods': {
      kind: 'flag',
      description:
        'In a cluster: watch the pods of the namespace and their nodes. A lost pod gives its leases back at once, and an eviction, a deletion or a lost node never counts as a death',
    },
  },
  examples: [
    { line: 'queue serve', description: 'Queues in ./queue.db, for workers on this machine' },
    {
      line: 'queue serve --listen=0.0.0.0:9500 --token-file=/secrets/owner',
      description: 'For workers on other machines',
    },
    {
      line: 'queue serve --db=postgres://queue@db/queue',
      description: 'Many servers, one database',
    },
  ],

  async run({ values, output, clock, env, signal }): Promise<ExitCode> {
    const { serveQueues } = await import('./serve-queues.ts');
    await serveQueues({ values, output, clock, env, signal });
    return EXIT.ok;
  },
});

function parseLease(text: string): Parsed<Millis> {
  const duration = parseDuration(text);
  if (!duration.ok || (duration.value >= SHORTEST_LEASE_MS && duration.value <= LONGEST_LEASE_MS)) return duration;
  return refused(`"${excerpt(text, 40)}" is not the length of a lease: 1s to 1h`);
}

function parseItemSize(text: string): Parsed<Bytes> {
  const size = parseBytes(text);
  return size.ok && (size.value < 1024 || size.value > LARGEST_ITEM)
    ? refused(`"${excerpt(text, 40)}" is not the size of an item: 1KiB to 16MiB`)
    : size;
}
