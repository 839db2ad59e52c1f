import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, it } from 'vitest';
import { gang } from '../../../test/operator/gang-world.ts';
import { realClock, VirtualClock } from '../../core/clock.ts';
import type { ApiObject } from '../../kube/api/api-object.ts';
import { at, listAt } from '../../kube/objects/fields.ts';
import { type News, newsOf } from './news.ts';
import { notificationOf } from './notification.ts';
import { Notifier, type Post, postTo } from './notifier.ts';
import { parseProgress } from './progress-reader.ts';

const STATUS = JSON.stringify({
  schema: 'holdfast.status/1',
  progress: { step: 120 },
  lastGood: { step: 100, ageSeconds: 0 },
  unsaved: { accelerators: 8 },
});

/** What happened to the run of a world while something was done to it. */
async function newsWhile(world: ReturnType<typeof gang>, act: () => void): Promise<News | null> {
  const before: ApiObject = world.run;
  act();
  await world.settle();
  return newsOf({ before, after: world.run });
}

async function interrupted(): Promise<News> {
  const world = gang();
  world.progress = parseProgress(STATUS, world.clock.now());
  await world.start();
  await world.clock.advance(90_000);
  const news = await newsWhile(world, () => world.remove('j-worker-1'));
  if (news === null) throw new Error('there is no news');
  return news;
}

describe('the news of a run', () => {
  it('are the cause, the lost work, and what happens next', async () => {
    expect(await interrupted()).toMatchObject({
      kind: 'interrupted',
      namespace: 'n',
      attempt: 1,
      what: expect.stringContaining('pod j-worker-1') as string,
      lost: '20 steps, 1m 30s on 8 accelerators',
      next: 'attempt 2 starts when the pods of the last one are gone, from step 100',
    });
  });

  it('correct the cause when the loss of a node turns out to be it', async () => {
    const world = gang();
    await world.start();
    expect(await newsWhile(world, () => world.exit('j-worker-0', 1))).toMatchObject({ cause: 'TRAINER_FAILED' });
    const corrected = await newsWhile(world, () => world.reportNode({ type: 'Ready', status: 'Unknown' }));
    expect(corrected).toMatchObject({ attempt: 1, cause: 'NODE_LOST', what: expect.stringContaining('node node-1') as string });
    expect(await newsWhile(world, () => world.reportNode({ type: 'Ready', status: 'True' }))).toBeNull();
  });

  it('say of a failed run that nothing restarts it, and of a finished one that it is finished', async () => {
    const failing = gang({ backoffLimit: 0 });
    await failing.start();
    const failed = await newsWhile(failing, () => failing.exit('j-worker-0', 1));
    expect(failed).toMatchObject({ kind: 'failed', lost: expect.stringContaining('unknown') as string });
    expect(failed?.next).toMatch(/^nothing restarts it: .*backoff limit/);
    const finishing = gang();
    await finishing.start();
    const succeeded = await newsWhile(finishing, () =>
      ['j-worker-0', 'j-worker-1', 'j-master-0'].forEach((name) => finishing.exit(name, 0)),
    );
    expect(succeeded).toMatchObject({ kind: 'succeeded', next: 'the run is finished' });
  });

  it('are none for a suspension, which is a person’s own act, and for a run that is seen for the first time', async () => {
    const world = gang();
    await world.start();
    expect(newsOf({ before: null, after: world.run })).toBeNull();
    expect(await newsWhile(world, () => world.suspend(true))).toBeNull();
  });
});

describe('a notification', () => {
  it('has the text for Slack, and the alerts that Alertmanager posts to a webhook', async () => {
    const body = notificationOf({ ...(await interrupted()), what: 'a < b & c' });
    expect(String(body['text']).split('\n')).toEqual([
      'PyTorchJob n/j was interrupted in attempt 1: a &lt; b &amp; c',
      'Lost work: 20 steps, 1m 30s on 8 accelerators',
      'Next: attempt 2 starts when the pods of the last one are gone, from step 100',
    ]);
    expect(body).toMatchObject({ version: '4', status: 'firing' });
    const [alert] = listAt(body, 'alerts');
    expect(alert).toMatchObject({ status: 'firing', endsAt: '0001-01-01T00:00:00Z', labels: { alertname: 'HoldfastRunInterrupted' } });
    expect(Number.isNaN(Date.parse(String(at(alert, 'startsAt'))))).toBe(false);
  });
});

describe('a notifier', () => {
  async function deliver(answers: readonly (number | Error)[]): Promise<{ readonly posted: number; readonly lines: readonly string[] }> {
    const clock = new VirtualClock();
    const lines: string[] = [];
    let posted = 0;
    const post: Post = () => {
      const answer = answers[posted++] ?? 200;
      return answer instanceof Error ? Promise.reject(answer) : Promise.resolve(answer);
    };
    const notifier = new Notifier({ post, clock, say: (line) => lines.push(line) });
    const control = new AbortController();
    notifier.hear(await interrupted());
    const ended = notifier.run({ signal: control.signal });
    await clock.advance(120_000);
    control.abort(new Error('over'));
    await ended;
    return { posted, lines };
  }

  it('tries again when the receiver is busy or gone, and not for ever', async () => {
    expect(await deliver([503, new Error('gone'), 429])).toEqual({ posted: 4, lines: [] });
    expect(await deliver([500, 500, 500, 500, 500, 500])).toEqual({
      posted: 5,
      lines: [expect.stringMatching(/^a notification about n\/j-\w+ was not delivered: the receiver answered with 500$/) as string],
    });
  });

  it('does not repeat what the receiver refuses, nor follow it elsewhere', async () => {
    for (const status of [400, 404, 302]) expect((await deliver([status])).posted).toBe(1);
  });

  it('never names the address, which may hold a secret', async () => {
    const secret = new TypeError('fetch of https://hooks.example.com/T0/secret failed', {
      cause: Object.assign(new Error('x'), { code: 'ECONNREFUSED' }),
    });
    const { lines } = await deliver(Array.from({ length: 5 }, () => secret));
    expect(lines).toEqual([expect.stringMatching(/did not answer \(ECONNREFUSED\)$/) as string]);
  });

  it('posts JSON to a real receiver', async () => {
    const bodies: string[] = [];
    const server = createServer((request, response) => {
      request.setEncoding('utf8').on('data', (text: string) => bodies.push(text));
      request.on('end', () => response.writeHead(request.headers['content-type'] === 'application/json' ? 200 : 415).end('ok'));
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const url = new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`);
    const control = new AbortController();
    const lines: string[] = [];
    const post: Post = async (body, options) => {
      const status = await postTo(url)(body, options);
      control.abort(new Error('posted'));
      return status;
    };
    const notifier = new Notifier({ post, clock: realClock, say: (line) => lines.push(line) });
    notifier.hear(await interrupted());
    await notifier.run({ signal: control.signal });
    server.close();
    expect(JSON.parse(bodies.join(''))).toMatchObject({ status: 'firing', text: expect.stringContaining('n/j') as string });
    expect(lines).toEqual([]);
  });
});
