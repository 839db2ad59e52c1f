import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Json } from '../../../core/json.ts';
import { readInstanceAction, readRebalance, readScheduled } from './aws.ts';
import { readScheduledEvents } from './azure.ts';
import { readMaintenance, readPreempted } from './gcp.ts';
import { instantOf } from './service.ts';
import { MetadataTrouble } from './trouble.ts';
import { parseMetadataWish } from '../../settings/metadata-wish.ts';

const NOW = Date.UTC(2026, 0, 1);
const IN_TWO_MINUTES = '2026-01-01T00:02:00Z';

describe('the wish for metadata services', () => {
  it.each([
    ['auto', { services: ['gcp', 'aws', 'azure'], isNamed: false, origin: 'http://169.254.169.254' }],
    ['off', null],
    ['aws', { services: ['aws'], isNamed: true, origin: 'http://169.254.169.254' }],
    ['gcp=http://127.0.0.1:8080', { services: ['gcp'], isNamed: true, origin: 'http://127.0.0.1:8080' }],
    ['auto=http://[::1]:1/', { services: ['gcp', 'aws', 'azure'], isNamed: false, origin: 'http://[::1]:1' }],
  ])('%s', (text, wish) => {
    expect(parseMetadataWish(text)).toEqual({ ok: true, value: wish });
  });

  it.each(['', 'AWS', 'gpc', 'off=http://x', 'aws=', 'aws=x', 'aws=https://x', 'aws=http://u:p@x', 'aws=http://x/path', 'aws=file:///etc'])(
    '"%s" is refused, with the rule',
    (text) => {
      expect(parseMetadataWish(text)).toEqual({
        ok: false,
        reason: expect.stringContaining('it is auto, off, gcp, aws or azure') as string,
      });
    },
  );
});

describe('the reader of a metadata service', () => {
  it.each([
    ['nothing is preempted', readPreempted('FALSE'), []],
    ['preempted', readPreempted('TRUE'), [{ cause: 'gcp-preempted', deadlineMs: null }]],
    ['no maintenance', readMaintenance('NONE'), []],
    ['maintenance', readMaintenance('MIGRATE_ON_HOST_MAINTENANCE'), [{ cause: 'gcp-maintenance' }]],
    [
      'a Spot interruption',
      readInstanceAction(`{"action":"stop","time":"${IN_TWO_MINUTES}"}`, NOW),
      [{ cause: 'aws-spot', deadlineMs: NOW + 120_000, detail: 'instance-action stop' }],
    ],
    // A clock that is wrong by minutes must not end the trainer at once.
    [
      'an interruption that has long passed',
      readInstanceAction('{"action":"terminate","time":"2020-01-01T00:00:00Z"}', NOW),
      [{ deadlineMs: null }],
    ],
    ['an interruption without a time', readInstanceAction('{"action":"terminate"}', NOW), [{ cause: 'aws-spot', deadlineMs: null }]],
    ['a rebalance recommendation', readRebalance('{"noticeTime":"x"}'), [{ cause: 'aws-rebalance', deadlineMs: null }]],
    ['no scheduled event', readScheduled('[]', NOW), []],
    [
      'of several scheduled events the next',
      readScheduled(
        '[{"State":"canceled","NotBefore":"1 Jan 2026 00:01:00 GMT"},{"State":"active","NotBefore":"1 Jan 2026 02:00:00 GMT"},{"State":"active","Code":"system-reboot","NotBefore":"1 Jan 2026 01:00:00 GMT"}]',
        NOW,
      ),
      [{ cause: 'aws-maintenance', deadlineMs: NOW + 3_600_000, detail: 'system-reboot' }],
    ],
  ])('%s', (_, told, expected) => {
    expect(told).toHaveLength(expected.length);
    expect(told).toMatchObject(expected);
  });

  it.each<[string, Json, readonly string[]]>([
    ['nothing', { Events: [] }, []],
    ['another machine', { Events: [{ EventType: 'Preempt', EventStatus: 'Scheduled', Resources: ['other'] }] }, []],
    ['an event that is over', { Events: [{ EventType: 'Preempt', EventStatus: 'Completed', Resources: ['me'] }] }, []],
    ['an unknown kind', { Events: [{ EventType: 'Dance', EventStatus: 'Scheduled', Resources: ['me'] }] }, []],
    ['an event that has begun', { Events: [{ EventType: 'Terminate', EventStatus: 'Started', Resources: ['me'] }] }, ['azure-terminate']],
    [
      'two of a kind',
      {
        Events: [
          { EventType: 'Reboot', EventStatus: 'Scheduled', Resources: ['me'] },
          { EventType: 'Redeploy', EventStatus: 'Scheduled', Resources: ['me'], NotBefore: IN_TWO_MINUTES },
        ],
      },
      ['azure-maintenance'],
    ],
  ])('about Azure: %s', (_, document, causes) => {
    expect(readScheduledEvents(document, 'ME', NOW).map(({ cause }) => cause)).toEqual(causes);
  });

  it('reports any other answer as a MetadataTrouble and never crashes', () => {
    const readers = [
      readPreempted,
      readMaintenance,
      readRebalance,
      (text: string) => readInstanceAction(text, NOW),
      (text: string) => readScheduled(text, NOW),
    ];
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.json()), fc.jsonValue(), (text, value) => {
        for (const read of [...readers.map((reader) => () => reader(text)), () => readScheduledEvents(value, 'me', NOW)]) {
          try {
            read();
          } catch (thrown) {
            expect(thrown).toBeInstanceOf(MetadataTrouble);
          }
        }
      }),
    );
  });

  it.each([
    [IN_TWO_MINUTES, NOW + 120_000],
    ['Thu, 01 Jan 2026 00:00:30 GMT', NOW + 30_000],
    ['2025-12-31T23:59:30Z', NOW - 30_000],
    ['2025-12-31T23:00:00Z', null],
    ['2126-01-01T00:00:00Z', null],
    ['soon', null],
    [7, null],
    [undefined, null],
  ])('the instant %j is %j', (text, instant) => {
    expect(instantOf(text, NOW)).toBe(instant);
  });
});
