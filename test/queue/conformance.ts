import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { VirtualClock } from '../../src/core/clock.ts';
import { createRng } from '../../src/core/rng.ts';
import type { QueueBackend, QueueRules } from '../../src/queue/backend.ts';
import { StoredQueues } from '../../src/queue/engine.ts';
import type { QueueStore } from '../../src/queue/store.ts';
import { commitOf, itemsOf, lease, releaseOf, session, turn, turnOf } from './drive.ts';

export const RULES: QueueRules = { leaseMs: 30_000, tries: 3, poison: 5 };

/** A place that outlives its store, so that the test can open it again. */
export interface Place extends AsyncDisposable {
  open(): Promise<QueueStore>;
}

/** What every backend must do. */
export function queueConformance(makePlace: () => Promise<Place>): void {
  let place: Place;
  let backend: QueueBackend;
  let clock: VirtualClock;
  const open = async (): Promise<QueueBackend> =>
    new StoredQueues({ store: await place.open(), rules: RULES, clock, rng: createRng(1), sharedNow: null });
  const [anna, bert] = [session('a/1'), session('b/1')];

  beforeEach(async () => {
    place = await makePlace();
    clock = new VirtualClock();
    backend = await open();
  });

  afterEach(async () => {
    await backend[Symbol.asyncDispose]();
    await place[Symbol.asyncDispose]();
  });

  describe('push', () => {
    it('adds an item once, names a key that is taken by another value, and changes nothing of it', async () => {
      expect(await backend.push('q', itemsOf('1', '2'))).toEqual(['added', 'added']);
      const again = [...itemsOf('2', '3'), { key: '1', value: '"other"', priority: 9 }];
      expect(await backend.push('q', again)).toEqual(['present', 'added', 'conflict']);
      expect((await backend.story('q', '1'))?.value).toBe('"1"');
      expect((await backend.status('q')).counts.ready).toBe(3);
    });

    it('sees a key that repeats inside one push', async () => {
      const items = [...itemsOf('1'), ...itemsOf('1'), { key: '1', value: '2', priority: 0 }];
      expect(await backend.push('q', items)).toEqual(['added', 'present', 'conflict']);
    });

    it('makes a queue also of no items, and every other call refuses a queue that is not there', async () => {
      await backend.push('empty', []);
      expect(await backend.queues()).toEqual(['empty']);
      await expect(backend.status('emty')).rejects.toMatchObject({ code: 'QUEUE_UNKNOWN' });
      await expect(lease(backend, 'emty', anna)).rejects.toMatchObject({ code: 'QUEUE_UNKNOWN' });
      await expect(backend.setPaused('emty', true)).rejects.toMatchObject({ code: 'QUEUE_UNKNOWN' });
    });

    it('keeps any text byte for byte', async () => {
      const value = JSON.stringify({ text: 'ü€😀\u2028"\\', number: '9007199254740993', null: '\\u0000' });
      await backend.push('q', [{ key: 'k\'"%ü😀', value, priority: 0 }]);
      const [one] = await lease(backend, 'q', anna);
      expect([one?.key, one?.value]).toEqual(['k\'"%ü😀', value]);
      await turn(backend, 'q', anna, { commits: [commitOf(one!, value)] });
      expect((await backend.results('q', { after: 0, limit: 9, generation: null }))[0]?.result).toBe(value);
    });
  });

  describe('lease', () => {
    it('gives higher priorities first, then the order of arrival', async () => {
      await backend.push('q', itemsOf('1', '2'));
      await backend.push('q', [{ key: 'urgent', value: '0', priority: 5 }]);
      expect((await lease(backend, 'q', anna, 2)).map(({ key }) => key)).toEqual(['urgent', '1']);
      expect((await lease(backend, 'q', bert, 9)).map(({ key }) => key)).toEqual(['2']);
      expect(await turn(backend, 'q', bert, { lease: 1 })).toMatchObject({ leases: [], isDrained: false });
    });

    it('gives a batch of large items in pieces, and each worker at least one', async () => {
      const value = JSON.stringify('x'.repeat(9 * 2 ** 20));
      await backend.push(
        'q',
        ['1', '2', '3', '4', '5', '6'].map((key) => ({ key, value, priority: 0 })),
      );
      expect((await lease(backend, 'q', anna, 100)).map(({ key }) => key)).toEqual(['1', '2', '3']);
      const workers = ['a/1', 'a/2', 'a/3'].map((id) => turnOf('q', session(id), { lease: 100 }));
      expect((await backend.turns(workers)).map(({ leases }) => leases.map(({ key }) => key))).toEqual([['4'], ['5'], ['6']]);
    });

    it('counts no more work as lost than the time since the lease', async () => {
      await backend.push('q', itemsOf('1'));
      const [one] = await lease(backend, 'q', anna);
      await clock.advance(2000);
      await turn(backend, 'q', anna, { releases: [{ ...releaseOf(one!), spentMs: Number.MAX_SAFE_INTEGER }] });
      expect((await backend.status('q')).lostMs).toBe(2000);
    });

    it('takes the requests of several workers in one step, and gives no item twice', async () => {
      await backend.push('q', itemsOf('1', '2', '3'));
      await backend.push('r', itemsOf('x'));
      const answers = await backend.turns([
        turnOf('q', anna, { lease: 2 }),
        turnOf('q', bert, { lease: 2 }),
        turnOf('r', bert, { lease: 2 }),
      ]);
      expect(answers.map(({ leases }) => leases.map(({ key }) => key))).toEqual([['1', '2'], ['3'], ['x']]);
    });

    it('gives nothing of a paused queue, and says so', async () => {
      await backend.push('q', itemsOf('1'));
      await backend.setPaused('q', true);
      expect(await turn(backend, 'q', anna, { lease: 1 })).toMatchObject({ leases: [], isPaused: true });
      await backend.setPaused('q', false);
      expect(await lease(backend, 'q', anna)).toHaveLength(1);
    });

    it('hands in and leases the next in one request', async () => {
      await backend.push('q', itemsOf('1', '2'));
      const [one] = await lease(backend, 'q', anna);
      const { commits, leases } = await turn(backend, 'q', anna, { commits: [commitOf(one!, '"r"')], lease: 1 });
      expect([commits, leases.map(({ key }) => key)]).toEqual([[{ verdict: 'write', standing: null }], ['2']]);
    });
  });

  describe('commit', () => {
    it('refuses an older token, and accepts a late one while no newer was given out', async () => {
      await backend.push('q', itemsOf('1', '2'));
      const [one, two] = await lease(backend, 'q', anna, 2);
      await clock.advance(30_001);
      expect((await backend.sweep()).expired).toBe(2);
      const [next] = await lease(backend, 'q', bert);
      expect([next?.key, next?.token]).toEqual(['1', 2]);
      const { commits } = await turn(backend, 'q', anna, { commits: [commitOf(one!, '1'), commitOf(two!, '2')] });
      expect(commits.map(({ verdict }) => verdict)).toEqual(['fenced', 'write']);
      expect((await turn(backend, 'q', bert, { commits: [commitOf(next!, '3')] })).commits[0]?.verdict).toBe('write');
    });

    it('accepts equal bytes again from any token, refuses others, and says which result stands', async () => {
      await backend.push('q', itemsOf('1'));
      const [one] = await lease(backend, 'q', anna);
      await turn(backend, 'q', anna, { commits: [commitOf(one!, '1')] });
      const again = await turn(backend, 'q', bert, { commits: [{ ...commitOf(one!, '1'), token: 99 }, commitOf(one!, '2')] });
      expect(again.commits).toEqual([
        { verdict: 'same', standing: '1' },
        { verdict: 'differs', standing: '1' },
      ]);
      expect((await backend.status('q')).refused).toBe(1);
    });

    it('keeps the newest ten refused results of an item, with their workers, and its result stands', async () => {
      await backend.push('q', itemsOf('1'));
      const [one] = await lease(backend, 'q', anna);
      await turn(backend, 'q', anna, { commits: [commitOf(one!, '"stands"')] });
      await backend.connected(bert);
      for (let n = 1; n <= 12; n++) await turn(backend, 'q', bert, { commits: [commitOf(one!, `"other ${n}"`)] });
      const story = await backend.story('q', '1');
      expect(story?.results.map(({ result }) => result)).toEqual(['"stands"']);
      expect(story?.refused).toMatchObject(
        Array.from({ length: 10 }, (_, i) => ({
          result: `"other ${i + 3}"`,
          token: 1,
          generation: 1,
          process: bert.process,
          node: bert.node,
        })),
      );
    });

    it('decides two commits of one step one after the other', async () => {
      await backend.push('q', itemsOf('1'));
      const [one] = await lease(backend, 'q', anna);
      const answers = await backend.turns(['1', '1', '2'].map((result) => turnOf('q', anna, { commits: [commitOf(one!, result)] })));
      expect(answers.map(({ commits }) => commits[0]?.verdict)).toEqual(['write', 'same', 'differs']);
    });

    it('that comes late and a lease in the same step do not give out what is done by it', async () => {
      await backend.push('q', itemsOf('1', '2'));
      const [one] = await lease(backend, 'q', anna);
      await clock.advance(30_001);
      await backend.sweep();
      const answers = await backend.turns([turnOf('q', anna, { commits: [commitOf(one!, '1')] }), turnOf('q', bert, { lease: 9 })]);
      expect(answers.map(({ commits, leases }) => [commits[0]?.verdict, leases.map(({ key }) => key)])).toEqual([
        ['write', []],
        [undefined, ['2']],
      ]);
      expect((await backend.story('q', '1'))?.state).toBe('done');
    });

    it('of a lease that is not held takes nothing from the others in its step', async () => {
      await backend.push('q', itemsOf('1', '2', '3'));
      const [one, two] = await lease(backend, 'q', anna, 2);
      await turn(backend, 'q', anna, { releases: [releaseOf(one!)] });
      const answers = await backend.turns([
        turnOf('q', anna, { commits: [commitOf(one!, '"late"'), commitOf(two!, '"held"')], lease: 1 }),
        turnOf('q', bert, { lease: 1 }),
      ]);
      expect(
        answers.map(({ commits, leases }) => [commits.map(({ verdict }) => verdict), leases.map(({ key, token }) => [key, token])]),
      ).toEqual([
        [['fenced', 'write'], [['1', 2]]],
        [[], [['3', 1]]],
      ]);
      expect((await backend.status('q')).counts).toMatchObject({ ready: 0, leased: 2, done: 1 });
    });

    it('refuses items of other queues and items that are not there', async () => {
      await backend.push('q', itemsOf('1'));
      await backend.push('r', itemsOf('1'));
      const [one] = await lease(backend, 'q', anna);
      const strange = [commitOf(one!, '1'), { item: 999_999, token: 1, generation: 1, result: '1' }];
      expect((await turn(backend, 'r', anna, { commits: strange })).commits.map(({ verdict }) => verdict)).toEqual(['fenced', 'fenced']);
    });

    it('drains the queue', async () => {
      await backend.push('q', itemsOf('1'));
      const [one] = await lease(backend, 'q', anna);
      expect(await turn(backend, 'q', anna, { commits: [commitOf(one!, '1')], lease: 1 })).toMatchObject({ isDrained: true });
    });
  });

  describe('what a worker gives back', () => {
    it('is ready at once, is no try, and its token commits nothing any more', async () => {
      await backend.push('q', itemsOf('1'));
      const [one] = await lease(backend, 'q', anna);
      await clock.advance(2000);
      const { held } = await turn(backend, 'q', anna, { releases: [{ ...releaseOf(one!), spentMs: 1500 }], notice: 'SIGTERM' });
      expect(held).toEqual([true]);
      expect((await turn(backend, 'q', anna, { commits: [commitOf(one!, '1')] })).commits[0]?.verdict).toBe('fenced');
      const [next] = await lease(backend, 'q', bert);
      expect(next).toMatchObject({ key: '1', token: 2, tries: 0 });
      expect((await backend.story('q', '1'))?.history).toMatchObject([{ token: 1, end: 'interrupted', detail: 'SIGTERM', isDeath: false }]);
      expect(await backend.status('q')).toMatchObject({ givenBack: 1, lost: 0, lostMs: 1500 });
    });

    it('leaves its progress to the next worker', async () => {
      await backend.push('q', itemsOf('1'));
      const [one] = await lease(backend, 'q', anna);
      await turn(backend, 'q', anna, { progress: [{ ...releaseOf(one!), state: '{"row":7}' }] });
      await turn(backend, 'q', anna, { releases: [releaseOf(one!)] });
      expect((await lease(backend, 'q', bert))[0]?.progress).toBe('{"row":7}');
      expect((await turn(backend, 'q', anna, { progress: [{ ...releaseOf(one!), state: '0' }] })).held).toEqual([false]);
    });

    it('leaves the progress that comes in the same request', async () => {
      await backend.push('q', itemsOf('1'));
      const [one] = await lease(backend, 'q', anna);
      const ref = releaseOf(one!);
      await turn(backend, 'q', anna, { progress: [{ ...ref, state: '{"row":7}' }], releases: [ref], notice: 'SIGTERM' });
      expect((await lease(backend, 'q', bert))[0]?.progress).toBe('{"row":7}');
    });

    it('as an error counts a try, waits, and fails for good after the last try', async () => {
      await backend.push('q', itemsOf('1'));
      for (let tries = 1; tries <= 3; tries++) {
        const [one] = await lease(backend, 'q', anna);
        expect(one?.tries).toBe(tries - 1);
        await turn(backend, 'q', anna, { fails: [{ item: one!.item, token: one!.token, error: `E${tries}` }] });
        expect(await lease(backend, 'q', anna)).toEqual([]);
        await clock.advance(10_000);
        await backend.sweep();
      }
      expect(await turn(backend, 'q', anna, { lease: 1 })).toMatchObject({ leases: [], isDrained: true });
      const [failed] = await backend.failed('q', { after: 0, limit: 9 });
      expect(failed).toMatchObject({ key: '1', state: 'failed', tries: 3 });
      expect(failed?.history.map(({ detail }) => detail)).toEqual(['E1', 'E2', 'E3']);
    });
  });

  describe('leases', () => {
    it('last as long as they are renewed, and tell a worker what it has lost', async () => {
      await backend.push('q', itemsOf('1', '2'));
      const [one] = await lease(backend, 'q', anna);
      const [two] = await lease(backend, 'q', bert);
      for (let second = 1; second <= 80; second++) {
        await clock.advance(1000);
        if (second % 20 === 0) expect(await backend.renew([{ session: anna.id, leases: [one!] }])).toEqual([[]]);
        await backend.sweep();
      }
      expect(await backend.renew([{ session: bert.id, leases: [two!] }])).toEqual([[two]]);
      expect(await lease(backend, 'q', anna, 9)).toMatchObject([{ key: '2', token: 2 }]);
    });

    it('end when the connection is gone for good, and not when the worker came back', async () => {
      await backend.push('q', itemsOf('1'));
      const first = await backend.connected(anna);
      const [one] = await lease(backend, 'q', anna);
      const second = await backend.connected(anna);
      expect(second).toBeGreaterThan(first);
      expect((await backend.disconnected(anna.id, first, 0)).woken).toEqual([]);
      expect(await backend.renew([{ session: anna.id, leases: [one!] }])).toEqual([[]]);
      expect((await backend.disconnected(anna.id, second, 0)).woken).toEqual(['q']);
      expect(await backend.renew([{ session: anna.id, leases: [one!] }])).toEqual([[one]]);
      expect((await backend.status('q')).lost).toBe(1);
    });

    it('are extended by the time in which no server was there', async () => {
      await backend.push('q', itemsOf('1'));
      const [one] = await lease(backend, 'q', anna);
      await backend.sweep();
      await backend[Symbol.asyncDispose]();
      await clock.advance(600_000);
      backend = await open();
      expect(await backend.sweep()).toMatchObject({ expired: 0, extendedMs: 600_000 });
      expect(await backend.renew([{ session: anna.id, leases: [one!] }])).toEqual([[]]);
      for (let i = 0; i < 31; i++) {
        await clock.advance(1000);
        await backend.sweep();
      }
      expect(await lease(backend, 'q', bert)).toHaveLength(1);
    });
  });

  describe('deaths', () => {
    /** The worker leases up to this many items and never returns. */
    const die = async (id: string, most = 1): Promise<readonly string[]> => {
      const worker = session(id);
      const connection = await backend.connected(worker);
      const leases = await lease(backend, 'q', worker, most);
      await backend.disconnected(id, connection, 0);
      return leases.map(({ key }) => key);
    };

    it('in a batch speak against no item, and have its items leased singly', async () => {
      await backend.push('q', itemsOf('1', '2', '3'));
      expect(await die('a/1', 2)).toEqual(['1', '2']);
      expect((await backend.story('q', '1'))?.deaths).toBe(0);
      expect((await lease(backend, 'q', anna, 9)).map(({ key }) => key)).toEqual(['1']);
      expect((await lease(backend, 'q', anna, 9)).map(({ key }) => key)).toEqual(['2']);
      expect((await lease(backend, 'q', anna, 9)).map(({ key }) => key)).toEqual(['3']);
    });

    it('put an item last, and set it aside after five on two nodes, with its history', async () => {
      await backend.push('q', itemsOf('bad', 'good'));
      expect(await die('a/1')).toEqual(['bad']);
      const [good] = await lease(backend, 'q', bert);
      expect(good?.key).toBe('good');
      for (const id of ['a/2', 'a/3', 'a/4', 'b/5']) expect(await die(id)).toEqual(['bad']);
      expect(await backend.failed('q', { after: 0, limit: 9 })).toMatchObject([{ key: 'bad', state: 'aside', deaths: 5 }]);
      expect((await backend.story('q', 'bad'))?.history).toHaveLength(5);
    });

    it('on one of two nodes do not set an item aside', async () => {
      await backend.push('q', itemsOf('1'));
      await backend.connected(session('b/0'));
      for (let i = 1; i <= 7; i++) expect(await die(`a/${i}`)).toEqual(['1']);
      expect((await backend.status('q')).counts).toMatchObject({ ready: 1, aside: 0 });
    });

    it('where there is one node, set an item aside after five processes', async () => {
      await backend.push('q', itemsOf('1'));
      for (let i = 1; i <= 5; i++) expect(await die(`a/${i}`)).toEqual(['1']);
      expect((await backend.status('q')).counts).toMatchObject({ ready: 0, aside: 1 });
    });

    it('of a worker that was cut off and reconnects count no longer, and its item is ready again', async () => {
      await backend.push('q', itemsOf('1'));
      for (const id of ['a/1', 'a/2', 'a/3', 'b/4', 'b/5']) expect(await die(id)).toEqual(['1']);
      expect(await backend.story('q', '1')).toMatchObject({ state: 'aside', deaths: 5 });
      await backend.connected(session('a/2'));
      expect(await backend.story('q', '1')).toMatchObject({ state: 'ready', deaths: 4 });
      const { history = [] } = (await backend.story('q', '1')) ?? {};
      expect(history.filter(({ isDeath }) => !isDeath)).toMatchObject([{ end: 'interrupted', detail: 'the worker reconnected' }]);
    });

    it('that a notice or a lost node explains count for nothing', async () => {
      await backend.push('q', itemsOf('1'));
      for (let i = 1; i <= 9; i++) {
        const worker = session(`${i % 2}/${i}`);
        expect(await lease(backend, 'q', worker)).toHaveLength(1);
        expect((await backend.explain(worker.id, 'DisruptionTarget', true)).woken).toEqual(['q']);
      }
      expect(await backend.story('q', '1')).toMatchObject({ state: 'ready', deaths: 0 });
      expect((await backend.status('q')).givenBack).toBe(9);
    });
  });

  describe('a pod', () => {
    it('whose end explains a death only later has it forgiven, and an item set aside by it is ready again', async () => {
      await backend.push('q', itemsOf('1'));
      const workers = [1, 2, 3, 4, 5].map((i) => session(`${i % 2}/${i}`));
      for (const worker of workers) {
        const connection = await backend.connected(worker);
        await lease(backend, 'q', worker);
        await backend.disconnected(worker.id, connection, 0);
      }
      expect(await backend.story('q', '1')).toMatchObject({ state: 'aside', deaths: 5 });
      expect((await backend.explain('1/3', 'the node of the pod is lost', true)).woken).toEqual(['q']);
      expect(await backend.explain('1/3', 'the node of the pod is lost', true)).toMatchObject({ woken: [] });
      const story = await backend.story('q', '1');
      expect(story).toMatchObject({ state: 'ready', deaths: 4 });
      expect(story?.history[2]).toMatchObject({ end: 'interrupted', isDeath: false, detail: 'the node of the pod is lost' });
      expect((await backend.status('q')).counts).toMatchObject({ ready: 1, aside: 0 });
    });

    it('that ends without an explanation loses its leases at once, and its death counts', async () => {
      await backend.push('q', itemsOf('1'));
      await lease(backend, 'q', anna);
      expect((await backend.explain(anna.id, null, true)).woken).toEqual(['q']);
      expect(await backend.story('q', '1')).toMatchObject({ state: 'ready', deaths: 1 });
    });

    it('is found by the processes of its workers, and not by the processes of a pod with a longer name', async () => {
      await backend.connected({ id: 'session-1', node: 'n', process: 'worker-1/7' });
      await backend.connected({ id: 'session-2', node: 'n', process: 'worker-1/8' });
      await backend.connected({ id: 'session-3', node: 'n', process: 'worker-10/7' });
      expect((await backend.sessionsIn('worker-1')).toSorted()).toEqual(['session-1', 'session-2']);
      expect(await backend.sessionsIn('%')).toEqual([]);
    });
  });

  describe('owners', () => {
    it('retry what failed, and compute again as a new generation what is done', async () => {
      await backend.push('q', itemsOf('1', '2'));
      const [one, two] = await lease(backend, 'q', anna, 2);
      await turn(backend, 'q', anna, { commits: [commitOf(one!, '1')] });
      await backend.cancel('q', '2', { after: 0, limit: 9 });
      expect((await turn(backend, 'q', anna, { commits: [commitOf(two!, '2')] })).commits[0]?.verdict).toBe('fenced');
      const retry = { key: null, isNewGeneration: true, isWithCancelled: true, page: { after: 0, limit: 1 } };
      const step = await backend.retry('q', retry);
      expect(step.changed).toBe(1);
      expect(await backend.retry('q', { ...retry, page: { after: step.next ?? 0, limit: 9 } })).toEqual({ changed: 1, next: null });
      const leases = await lease(backend, 'q', bert, 9);
      expect(leases.map(({ key, generation, token }) => [key, generation, token])).toEqual([
        ['1', 2, 2],
        ['2', 1, 2],
      ]);
      await turn(backend, 'q', bert, { commits: [commitOf(leases[0]!, '"new"')] });
      const page = { after: 0, limit: 9 };
      expect((await backend.results('q', { ...page, generation: null })).map(({ result }) => result)).toEqual(['"new"']);
      expect((await backend.results('q', { ...page, generation: 1 })).map(({ result }) => result)).toEqual(['1']);
      expect((await turn(backend, 'q', anna, { commits: [commitOf(one!, '"late"')] })).commits[0]).toEqual({
        verdict: 'differs',
        standing: '1',
      });
    });

    it('drop a queue with everything in it, and may push one of the same name at once', async () => {
      await backend.push('q', itemsOf('1', '2'));
      const [one] = await lease(backend, 'q', anna);
      await backend.drop('q');
      expect(await backend.queues()).toEqual([]);
      await backend.push('q', itemsOf('1'));
      expect((await turn(backend, 'q', anna, { commits: [commitOf(one!, '1')] })).commits[0]?.verdict).toBe('fenced');
      await backend.sweep();
      expect((await backend.status('q')).total).toBe(1);
      expect(await backend.story('q', '1')).toMatchObject({ token: 0, results: [] });
    });

    it('read results page by page while workers go on', async () => {
      await backend.push('q', itemsOf(...Array.from({ length: 7 }, (_, i) => String(i))));
      const leases = await lease(backend, 'q', anna, 5);
      await turn(backend, 'q', anna, { commits: leases.map((one) => commitOf(one, one.key)) });
      const keys: string[] = [];
      let after = 0;
      for (;;) {
        const page = await backend.results('q', { after, limit: 2, generation: null });
        keys.push(...page.map(({ key }) => key));
        after = page.at(-1)?.item ?? after;
        if (page.length < 2) break;
      }
      expect(keys).toEqual(['0', '1', '2', '3', '4']);
    });

    it('see who holds what', async () => {
      await backend.push('q', itemsOf('1', '2', '3'));
      await backend.connected(anna);
      await lease(backend, 'q', anna, 2);
      expect((await backend.status('q')).workers).toEqual([{ session: 'a/1', node: 'a', process: 'a/1', leases: 2, since: clock.now() }]);
    });
  });

  it('everything that was acknowledged is there after the place was opened again', async () => {
    await backend.push('q', itemsOf('1', '2'));
    const [one, two] = await lease(backend, 'q', anna, 2);
    await turn(backend, 'q', anna, { commits: [commitOf(one!, '1')] });
    await backend[Symbol.asyncDispose]();
    backend = await open();
    expect((await backend.results('q', { after: 0, limit: 9, generation: null })).map(({ key }) => key)).toEqual(['1']);
    expect((await turn(backend, 'q', anna, { commits: [commitOf(two!, '2')] })).commits[0]?.verdict).toBe('write');
  });
}
