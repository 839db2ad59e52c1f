import { writeFileSync } from 'node:fs';
import { realClock } from '../../../src/core/clock.ts';
import type { Cause } from '../../../src/domain/grace/notice.ts';
import { AmazonMetadata, AzureMetadata, GoogleMetadata, MetadataServer } from '../metadata-server.ts';
import type { Supervised } from '../supervised.ts';

/** A source of notices that exists before the run starts. */
interface Source {
  /** The option of `holdfast run` for it. */
  readonly args: readonly string[];
  /** What the run prints once it listens. */
  readonly heard?: RegExp;
  /** Gives the notice. If the notice names the time until the end, it is this long. */
  give(run: Supervised, graceMs: number): void;
  close?(): Promise<void>;
}

interface NoticeFacts {
  /** The name in the table. */
  readonly label: string;
  /** The cause in the ledger. */
  readonly cause: Cause;
  readonly from: 'signal' | 'watched-file' | 'metadata';
  /** Whether it ends the attempt; otherwise it is advice. */
  readonly terminating: boolean;
  /** `file` is a file for sources that write their notice into one. */
  readonly open: (file: string) => Source | Promise<Source>;
}

/**
 * How long the supervisor may take to ask a service that it asks every five seconds, on a busy
 * machine.
 */
const POLL_MS = 10_000;

const instant = (graceMs: number): string => new Date(realClock.now() + POLL_MS + graceMs).toISOString();

const signal = (name: NodeJS.Signals) => (): Source => ({ args: [], give: (run) => run.signal(name) });

const inFile =
  (cause: Cause) =>
  (file: string): Source => ({
    args: ['--notice-file', file],
    give: () => writeFileSync(file, `app="x"\nholdfast.dev/notice="${cause}"\n`),
  });

async function service(
  name: 'gcp' | 'aws' | 'azure',
  played: Pick<AzureMetadata, 'answer'>,
  give: (graceMs: number) => void,
): Promise<Source> {
  const server = await MetadataServer.start(played.answer);
  return {
    args: ['--metadata', `${name}=${server.origin}`],
    heard: /listens to the metadata service/,
    give: (_, graceMs) => give(graceMs),
    close: () => server[Symbol.asyncDispose](),
  };
}

const google = (path: string, value: string) => (): Promise<Source> => {
  const played = new GoogleMetadata();
  return service('gcp', played, () => played.set(path, value));
};

const amazon = (path: string, value: (graceMs: number) => object) => (): Promise<Source> => {
  const played = new AmazonMetadata();
  return service('aws', played, (graceMs) => void played.values.set(path, JSON.stringify(value(graceMs))));
};

const azure = (EventType: string) => (): Promise<Source> => {
  const played = new AzureMetadata();
  return service('azure', played, (graceMs) => {
    played.events = [{ EventType, Resources: ['trainer_0'], NotBefore: instant(graceMs) }];
  });
};

/** Every notice of the matrix, and how to give it. */
export const NOTICES = {
  SIGTERM: { label: 'SIGTERM', cause: 'sigterm', from: 'signal', terminating: true, open: signal('SIGTERM') },
  SIGINT: { label: 'Ctrl-C', cause: 'ctrl-c', from: 'signal', terminating: true, open: signal('SIGINT') },
  SIGHUP: { label: 'SIGHUP', cause: 'hangup', from: 'signal', terminating: true, open: signal('SIGHUP') },
  suspend: { label: '`suspend` in the watched file', cause: 'suspend', from: 'watched-file', terminating: true, open: inFile('suspend') },
  gcp: {
    label: 'Spot reclaim of Google Cloud',
    cause: 'gcp-preempted',
    from: 'metadata',
    terminating: true,
    open: google('preempted', 'TRUE'),
  },
  aws: {
    label: 'Spot reclaim of AWS',
    cause: 'aws-spot',
    from: 'metadata',
    terminating: true,
    open: amazon('spot/instance-action', (graceMs) => ({ action: 'terminate', time: instant(graceMs) })),
  },
  azure: { label: 'Spot reclaim of Azure', cause: 'azure-preempt', from: 'metadata', terminating: true, open: azure('Preempt') },
  SIGUSR1: { label: 'SIGUSR1', cause: 'save-requested', from: 'signal', terminating: false, open: signal('SIGUSR1') },
  pressure: {
    label: '`pressure` in the watched file',
    cause: 'pressure',
    from: 'watched-file',
    terminating: false,
    open: inFile('pressure'),
  },
  'gcp-advice': {
    label: 'maintenance of Google Cloud',
    cause: 'gcp-maintenance',
    from: 'metadata',
    terminating: false,
    open: google('maintenance-event', 'TERMINATE_ON_HOST_MAINTENANCE'),
  },
  'aws-advice': {
    label: 'rebalance of AWS',
    cause: 'aws-rebalance',
    from: 'metadata',
    terminating: false,
    open: amazon('events/recommendations/rebalance', () => ({ noticeTime: instant(0) })),
  },
  'azure-advice': {
    label: 'maintenance of Azure',
    cause: 'azure-maintenance',
    from: 'metadata',
    terminating: false,
    open: azure('Freeze'),
  },
} as const satisfies Readonly<Record<string, NoticeFacts>>;

export type NoticeName = keyof typeof NOTICES;

/** Opens the source of this notice until the end of the scope; null: no notice. */
export async function openSource(name: NoticeName | 'none', file: string): Promise<(Source & AsyncDisposable) | null> {
  if (name === 'none') return null;
  const source: Source = await NOTICES[name].open(file);
  return { ...source, [Symbol.asyncDispose]: async () => source.close?.() };
}
