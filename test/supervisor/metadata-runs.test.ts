import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { get } from 'node:http';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { readLedger } from '../../src/ledger/reader.ts';
import type { EventKind, EventOf } from '../../src/ledger/events.ts';
import { freePort } from '../support/free-port.ts';
import { AmazonMetadata, GoogleMetadata, hang, MetadataServer } from '../support/metadata-server.ts';
import { ROOT, runProcess } from '../support/run-process.ts';
import { Supervised, trainerCommand } from '../support/supervised.ts';
import { tempFolder } from '../support/temp-folder.ts';

function eventsOf<Kind extends EventKind>(run: string, kind: Kind): readonly EventOf<Kind>[] {
  return readLedger(run).events.flatMap(({ event }) => (event.kind === kind ? [event as EventOf<Kind>] : []));
}

describe('a run that watches a metadata service', () => {
  it('ends when the cloud reclaims the machine, with a last save and a resumable exit code', async () => {
    using folder = tempFolder();
    const dir = join(folder.path, 'run');
    const google = new GoogleMetadata();
    await using server = await MetadataServer.start(google.answer);
    const run = new Supervised({ args: ['--dir', dir, '--metadata', `gcp=${server.origin}`], command: trainerCommand('dies', 'sdk') });
    await run.line(/^ready/);
    await run.line(/listens to the metadata service of Google Cloud/);
    google.set('preempted', 'TRUE');
    expect(await run.ended).toMatchObject({ code: 143, stderr: expect.stringContaining('notice: Spot reclaim (Google Cloud)') as string });
    expect(eventsOf(dir, 'notice')).toMatchObject([{ cause: 'gcp-preempted', source: 'metadata', terminating: true, confidence: 'known' }]);
    expect(eventsOf(dir, 'flush-ended')).toMatchObject([{ outcome: 'made' }]);
  });

  it('saves on an advice and continues; the cloud can withdraw the advice, and the exit code ignores it', async () => {
    using folder = tempFolder();
    const dir = join(folder.path, 'run');
    const google = new GoogleMetadata();
    await using server = await MetadataServer.start(google.answer);
    const run = new Supervised({
      args: ['--dir', dir, '--every', '1h'],
      // The address comes from the environment here.
      env: { HOLDFAST_METADATA: `auto=${server.origin}` },
      command: trainerCommand('dies', 'sdk', { until: join(folder.path, 'enough') }),
    });
    await run.line(/^ready/);
    await run.line(/listens to the metadata service/);
    google.set('maintenance-event', 'TERMINATE_ON_HOST_MAINTENANCE');
    await run.line(/sealed step/);
    google.set('maintenance-event', 'NONE');
    await run.line(/withdrawn: host maintenance ahead/);
    run.letFinish(join(folder.path, 'enough'));
    expect(await run.ended).toMatchObject({ code: 0 });
    expect(eventsOf(dir, 'notice-withdrawn')).toMatchObject([{ cause: 'gcp-maintenance', source: 'metadata' }]);
    expect(eventsOf(dir, 'save-started').map(({ reason }) => reason)).toContain('advice');
  });

  it('learns the kind of its node from the service, which shortens the grace of a bare SIGTERM', async () => {
    using folder = tempFolder();
    const dir = join(folder.path, 'run');
    const google = new GoogleMetadata({ 'scheduling/preemptible': 'TRUE', 'attributes/cluster-name': 'c' });
    await using server = await MetadataServer.start(google.answer);
    const args = ['--dir', dir, '--grace', '5m', '--metadata', `gcp=${server.origin}`];
    const run = new Supervised({ args, command: trainerCommand('dies', 'sdk') });
    await run.line(/^ready/);
    await run.line(/a Spot node of GKE leaves user pods 15s/);
    run.signal('SIGTERM');
    expect((await run.ended).code).toBe(143);
    expect(eventsOf(dir, 'deadline')).toMatchObject([{ graceMs: 15_000 }]);
  });

  it('starts and ends on time when the service never answers', async () => {
    using folder = tempFolder();
    await using server = await MetadataServer.start(hang);
    const args = ['--dir', join(folder.path, 'run'), '--metadata', `azure=${server.origin}`];
    expect(await new Supervised({ args, command: trainerCommand('dies', 'sdk', { steps: 20 }) }).ended).toMatchObject({ code: 0 });
  });

  it.each([
    [['--metadata=gpc'], 'option --metadata: "gpc" names no metadata service'],
    [['--metadata=aws=https://x'], 'option --metadata: "https://x" is not the address of a metadata service'],
    [['--hang=5'], 'option --hang: "5" is not auto, off or a time'],
    [['--on-hang=panic'], 'option --on-hang: "panic" is neither report nor restart'],
    [['--on-hang=restart'], '--on-hang=restart needs restarts, but --restarts is 0'],
    [['--status=99999'], 'option --status: "99999" is not where a status can be served'],
  ])('%j is refused before the trainer starts', async (args, message) => {
    using folder = tempFolder();
    const { code, stderr } = await new Supervised({ args: ['--dir', join(folder.path, 'run'), ...args], command: ['true'] }).ended;
    expect([code, stderr]).toEqual([64, expect.stringContaining(message) as string]);
  });
});

/** The first time it is compiled, at a low priority and perhaps behind a build of Kubernetes. */
const BUILD_TIMEOUT_MS = 20 * 60_000;

/** AWS's own mock, or the reason why it is missing. */
let mock: string | null = null;
let whyNoMock = '';

/** Starts the mock with these options, and ends it with the test. */
class Ec2Mock {
  readonly #child: ChildProcess;
  readonly origin: string;

  private constructor(child: ChildProcess, origin: string) {
    this.#child = child;
    this.origin = origin;
  }

  static async start(program: string, ...options: readonly string[]): Promise<Ec2Mock> {
    // The mock cannot choose a port itself, and another process may take the free port first.
    for (let tries = 0; tries < 5; tries++) {
      const port = await freePort();
      const args = [...options, '--imdsv2', '--hostname', '127.0.0.1', '--port', String(port)];
      const child = spawn(program, args, { stdio: 'ignore' });
      const server = new Ec2Mock(child, `http://127.0.0.1:${port}`);
      while (child.exitCode === null && !(await answers(`${server.origin}/latest/meta-data/`)));
      if (child.exitCode === null) return server;
    }
    throw new Error('the mock does not start');
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const ended = once(this.#child, 'exit');
    if (this.#child.exitCode !== null) return;
    this.#child.kill('SIGKILL');
    await ended;
  }
}

function answers(url: string): Promise<boolean> {
  return new Promise((resolve) => {
    get(url, (answer) => {
      answer.resume();
      resolve(true);
    }).on('error', () => resolve(false));
  });
}

describe('a run that watches AWS’s own mock', () => {
  beforeAll(async () => {
    const { code, stdout, stderr } = await runProcess(join(ROOT, 'test/supervisor/setup-ec2-mock.sh'), [], { env: process.env });
    mock = code === 0 ? stdout.trim() : null;
    whyNoMock = stderr.trim();
  }, BUILD_TIMEOUT_MS);

  it('ends on an interruption notice, before the time in the notice', async (context) => {
    if (mock === null) return context.skip(whyNoMock);
    using folder = tempFolder();
    const dir = join(folder.path, 'run');
    await using server = await Ec2Mock.start(mock, 'spot', '--action', 'terminate', '--rebalance-delay-sec', '86400');
    const run = new Supervised({ args: ['--dir', dir, '--metadata', `auto=${server.origin}`], command: trainerCommand('dies', 'sdk') });
    expect(await run.ended).toMatchObject({ code: 143, stderr: expect.stringContaining('notice: Spot reclaim (AWS)') as string });
    const [notice] = eventsOf(dir, 'notice');
    expect(notice).toMatchObject({ cause: 'aws-spot', source: 'metadata', terminating: true, detail: 'instance-action terminate' });
    // The mock names the second two minutes after the request.
    const leftMs = (notice?.deadlineMs ?? 0) - (notice?.noticedMs ?? 0);
    expect([leftMs > 60_000, leftMs <= 121_000]).toEqual([true, true]);
    expect(eventsOf(dir, 'attempt-ended')).toMatchObject([{ cause: 'aws-spot', exitCode: 143 }]);
  });

  it.for([
    ['a rebalance recommendation', ['spot', '--mock-delay-sec', '86400'], 'aws-rebalance'],
    ['scheduled maintenance', ['events', '--code', 'instance-reboot', '--state', 'active'], 'aws-maintenance'],
  ] as const)('treats %s as advice', async ([, options, cause], context) => {
    if (mock === null) return context.skip(whyNoMock);
    using folder = tempFolder();
    const dir = join(folder.path, 'run');
    await using server = await Ec2Mock.start(mock, ...options);
    const run = new Supervised({
      args: ['--dir', dir, '--metadata', `aws=${server.origin}`],
      command: trainerCommand('dies', 'sdk', { until: join(folder.path, 'enough') }),
    });
    await run.line(/notice: (rebalance recommendation|scheduled maintenance) \(AWS\)/);
    run.letFinish(join(folder.path, 'enough'));
    expect((await run.ended).code).toBe(0);
    expect(eventsOf(dir, 'notice')).toMatchObject([{ cause, terminating: false, source: 'metadata' }]);
  });
});

describe('the AWS token', () => {
  it('is requested first, and without a token there is no other request', async () => {
    using folder = tempFolder();
    const amazon = new AmazonMetadata({ 'instance-life-cycle': 'spot' });
    await using server = await MetadataServer.start(amazon.answer);
    const args = ['--dir', join(folder.path, 'run'), '--metadata', `aws=${server.origin}`];
    const run = new Supervised({ args, command: trainerCommand('dies', 'sdk') });
    await run.line(/^ready/);
    await run.line(/a Spot instance of AWS ends 2m after its notice/);
    run.signal('SIGTERM');
    expect((await run.ended).code).toBe(143);
    expect(server.requests[0]).toBe('PUT /latest/api/token');
    expect(amazon.tokens).toBe(1);
  });
});
