import { once } from 'node:events';
import { type ServerResponse, createServer } from 'node:http';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { tempFolder } from '../../support/temp-folder.ts';
import { KubeApi } from '../cluster/api.ts';
import { History } from './history.ts';

/** What is said to whoever asks for what has this in its path. */
type Line = readonly [path: string, line: object];

/** Watches a server that says these lines, of a play that began at revision 100. */
async function watching(lines: readonly Line[], look: (history: History) => Promise<void>, node?: string): Promise<void> {
  using folder = tempFolder();
  const answer = (asked: string, response: ServerResponse): void => {
    response.writeHead(200).flushHeaders();
    for (const [path, line] of lines) if (asked.includes(path)) response.write(`${JSON.stringify(line)}\n`);
  };
  const socket = join(folder.path, 'api.sock');
  const server = createServer(({ url = '' }, response) => answer(url, response)).listen(socket);
  await once(server, 'listening');
  const calledOff = new AbortController();
  try {
    await look(History.watch({ api: new KubeApi(socket) }, { namespace: 'play', since: 100, node }, calledOff.signal));
  } finally {
    calledOff.abort();
    server.closeAllConnections();
    server.close();
  }
}

const metadata = (name: string, resourceVersion: string): object => ({ name, uid: name, resourceVersion });
const pod = { type: 'ADDED', object: { metadata: metadata('one', '101'), status: { phase: 'Running' } } };
const tooOld = { type: 'ERROR', object: { kind: 'Status', code: 410, message: 'too old resource version' } };

const PODS = '/namespaces/play/pods';

it('what is told of the objects in a namespace are facts', async () => {
  await watching([[PODS, pod]], async (history) => {
    await history.whenSeen(['pod 1: phase Running']);
    history.mustBeWhole();
    expect(history.facts.map(({ text, revision }) => [text, revision])).toEqual([['pod 1: phase Running', 101]]);
  });
});

it('a watch that tells an error ends the wait, and says which it was: what it has missed must not pass for what never happened', async () => {
  await watching([[PODS, tooOld]], async (history) => {
    const told = /the watch of Pods tells no change, but ERROR: .*too old resource version/;
    await expect(history.whenSeen(['pod 1: ready'])).rejects.toThrow(told);
    expect(() => history.mustBeWhole()).toThrow(told);
  });
});

it('so does one that tells it after all that was waited for has been seen', async () => {
  await watching(
    [
      [PODS, pod],
      [PODS, tooOld],
    ],
    async (history) => {
      await history.whenSeen(['pod 1: phase Running']);
      await expect(history.whenSeen(['pod 1: gone'])).rejects.toThrow('not seen: pod 1: gone');
      expect(() => history.mustBeWhole()).toThrow('not all was seen');
    },
  );
});

it('of the events of its node those are facts that tell what became of it in this play', async () => {
  const events = '/namespaces/default/events?fieldSelector=involvedObject.kind=Node,involvedObject.name=node-4&';
  const event = (reason: string, revision: string): Line => {
    const object = { metadata: metadata(reason, revision), reason, involvedObject: { kind: 'Node', name: 'node-4' } };
    return [events, { type: 'ADDED', object }];
  };
  const lines = [event('EvictionThresholdMet', '99'), event('Starting', '101'), event('Shutdown', '102')];
  const look = async (history: History): Promise<void> => {
    await history.whenSeen(['event Node Shutdown']);
    expect(history.facts.map(({ text }) => text)).toEqual(['event Node Shutdown']);
  };
  await watching(lines, look, 'node-4');
});
