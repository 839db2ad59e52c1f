import { describe, expect, it } from 'vitest';
import type { ApiObject } from '../../kube/api/api-object.ts';
import { PodBook } from './pod-book.ts';

function pod(name: string, more: { readonly metadata?: object; readonly status?: object } = {}): ApiObject {
  const metadata = { name, uid: `uid-${name}`, resourceVersion: '1', creationTimestamp: '2026-01-01T00:00:00Z', ...more.metadata };
  return { apiVersion: 'v1', kind: 'Pod', metadata, spec: { nodeName: 'node-1' }, status: { phase: 'Running', ...more.status } };
}

function node(ready: string, taints: readonly object[] = []): ApiObject {
  const metadata = { name: 'node-1', uid: 'uid', resourceVersion: '1', creationTimestamp: '2026-01-01T00:00:00Z' };
  return { apiVersion: 'v1', kind: 'Node', metadata, spec: { taints }, status: { conditions: [{ type: 'Ready', status: ready }] } };
}

/** A book with these pods. */
function bookOf(...pods: readonly ApiObject[]): PodBook {
  const book = new PodBook();
  for (const after of pods) book.notePod({ before: null, after });
  return book;
}

const evicted = { conditions: [{ type: 'DisruptionTarget', status: 'True', reason: 'EvictionByEvictionAPI' }] };
const exited = (finishedAt: string) => ({
  phase: 'Failed',
  containerStatuses: [{ name: 'worker', state: { terminated: { exitCode: 1, finishedAt } } }],
});

/** Reports all news, as the watch does. */
function tell(book: PodBook): readonly object[] {
  const news = book.news();
  for (const one of news) book.noteTold(one);
  return news.map(({ pod: name, end }) => ({ pod: name, ...end }));
}

describe('the book of pods', () => {
  it('reports an end once, and again when it changes', () => {
    const [running, leaving] = [pod('a'), pod('a', { status: evicted })];
    const book = bookOf(running, pod('b'));
    expect(tell(book)).toEqual([]);
    book.notePod({ before: running, after: leaving });
    expect(book.news()).toHaveLength(1);
    expect(tell(book)).toEqual([{ pod: 'a', notice: 'DisruptionTarget/EvictionByEvictionAPI', isGone: false }]);
    expect(tell(book)).toEqual([]);
    book.notePod({ before: leaving, after: null });
    expect(tell(book)).toEqual([{ pod: 'a', notice: 'DisruptionTarget/EvictionByEvictionAPI', isGone: true }]);
    expect(tell(book)).toEqual([]);
  });

  it('takes a pod that another one of its name replaced for deleted', () => {
    const book = bookOf(pod('a'));
    book.notePod({ before: pod('a'), after: pod('a', { metadata: { uid: 'another' } }) });
    expect(tell(book)).toEqual([{ pod: 'a', notice: 'the pod was deleted', isGone: true }]);
  });

  it('does not excuse a crash because the pod was deleted afterwards', () => {
    const crash = exited('2026-01-01T00:00:00Z');
    const book = bookOf(pod('a', { status: crash }));
    expect(tell(book)).toEqual([{ pod: 'a', notice: null, isGone: true }]);
    const later = { deletionTimestamp: '2026-01-01T00:10:30Z', deletionGracePeriodSeconds: 30 };
    const cleared = pod('a', { status: crash, metadata: later });
    book.notePod({ before: null, after: cleared });
    book.notePod({ before: cleared, after: null });
    expect(tell(book)).toEqual([]);
    const before = { deletionTimestamp: '2026-01-01T00:00:20Z', deletionGracePeriodSeconds: 30 };
    expect(tell(bookOf(pod('b', { status: crash, metadata: before })))).toEqual([
      { pod: 'b', notice: 'the pod was deleted', isGone: true },
    ]);
  });

  it('takes the pods of a node that is not heard of, is out of service or was deleted for lost', () => {
    const up = node('True');
    for (const lost of [node('Unknown'), node('True', [{ key: 'node.kubernetes.io/out-of-service', effect: 'NoExecute' }]), null]) {
      const book = bookOf(pod('a'));
      book.noteNode({ before: null, after: up });
      expect(tell(book)).toEqual([]);
      book.noteNode({ before: up, after: lost });
      book.tidy();
      expect(tell(book)).toEqual([{ pod: 'a', notice: 'the node of the pod is lost', isGone: true }]);
    }
  });

  it('does not take a node for lost that it has not seen yet, or one that only is not ready', () => {
    const book = bookOf(pod('a'));
    expect(tell(book)).toEqual([]);
    book.noteNode({ before: null, after: node('False') });
    expect(tell(book)).toEqual([]);
  });
});
