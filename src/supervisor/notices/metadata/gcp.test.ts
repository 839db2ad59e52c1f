import { expect, it } from 'vitest';
import { openGcp } from './gcp.ts';
import type { Question } from './metadata-client.ts';

const { signal } = new AbortController();

it('a question that Google never answers is given up within five seconds, also one that waits for a change', async () => {
  const asked: Question[] = [];
  const { channels } = openGcp((question) => {
    asked.push(question);
    const headers = new Map([
      ['metadata-flavor', 'Google'],
      ['etag', 'a1'],
    ]);
    return Promise.resolve({ status: 200, headers, body: question.path.includes('preempted') ? 'FALSE' : 'NONE' });
  });
  for (const look of [...channels, ...channels]) await look(signal);
  expect(asked.filter(({ path }) => path.includes('wait_for_change=true'))).toHaveLength(channels.length);
  expect(asked.filter(({ timeoutMs }) => timeoutMs > 5000)).toEqual([]);
});
