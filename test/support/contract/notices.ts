import { writeFileSync } from 'node:fs';
import { realClock } from '../../../src/core/clock.ts';
import type { Cause } from '../../../src/domain/notice.ts';
import { AmazonMetadata, AzureMetadata, GoogleMetadata, MetadataServer } from '../metadata-server.ts';
import type { Supervised } from '../supervised.ts';

/** A source of notices that is there before the run starts. */
interface Source {
  /** What `holdfast run` is told about it. */
  readonly args: readonly string[];
  /** What is printed once it is listened to. */
  readonly heard?: RegExp;
  /** Gives the notice, with so much time until the end where it says how much. */
  give(run: Supervised, graceMs: number): void;
  close?(): Promise<void>;
}

interface NoticeFacts {
  /** As the table shows it. */
  readonly label: string;
  /** In the ledger. */
  readonly cause: Cause;
  readonly from: 'signal' | 'watched-file' | 'metadata';
  /** Else it is an advice. */
  readonly terminating: boolean;
  /** `file` is one that a notice may be written into. */
  readonly open: (file: string) => Source | Promise<Source>;
}

/** How long a service that is asked every five seconds may take to be asked, on a machine that has much else to do. */
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

/** Every notice of the matrix, and how it is given. */
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

/** What gives the notice of this name, until the end of the scope; null: nothing. */
export async function openSource(name: NoticeName | 'none', file: string): Promise<(Source & AsyncDisposable) | null> {
  if (name === 'none') return null;
  const source: Source = await NOTICES[name].open(file);
  return { ...source, [Symbol.asyncDispose]: async () => source.close?.() };
}
