import { describe, expect, it } from 'vitest';
import { fillPlaceholders } from './placeholders.ts';
import { scheduledText, scheduledTime } from './scheduled.ts';

const POD = { KUBERNETES_SERVICE_HOST: '10.0.0.1' };
/** 2026-01-31T02:00:00Z in minutes since 1970. */
const MINUTE = 29_497_080;

function textOf(env: Readonly<Record<string, string>>): string | null {
  const { atMs } = scheduledTime(env);
  return atMs === null ? null : scheduledText(atMs);
}

describe('the scheduled time', () => {
  it.each([
    ['a pod of a CronJob', { ...POD, HOSTNAME: `nightly-${MINUTE}-x7k2p` }],
    ['an indexed pod of a CronJob', { ...POD, HOSTNAME: `nightly-${MINUTE}-3` }],
    ['an indexed pod with its random end', { ...POD, HOSTNAME: `nightly-${MINUTE}-3-x7k2p` }],
    ['the name of the Job', { HOLDFAST_JOB_NAME: `nightly-${MINUTE}` }],
    ['the variable', { HOLDFAST_SCHEDULED_AT: '2026-01-31T02:00:00Z', ...POD, HOSTNAME: `nightly-${MINUTE + 60}-x7k2p` }],
    ['the variable in another zone', { HOLDFAST_SCHEDULED_AT: '2026-01-31T03:00:00+01:00' }],
  ])('is known from %s', (_, env) => expect(textOf(env)).toBe('2026-01-31T02:00:00Z'));

  it.each([
    ['a pod that no CronJob started', { ...POD, HOSTNAME: 'train-x7k2p' }],
    ['a pod with a small number in its name', { ...POD, HOSTNAME: 'train-12345678-x7k2p' }],
    ['a machine outside a cluster', { HOSTNAME: `nightly-${MINUTE}-x7k2p` }],
  ])('is unknown on %s', (_, env) => expect(textOf(env)).toBeNull());

  it('is refused when its variable is no time', () => {
    expect(scheduledTime({ HOLDFAST_SCHEDULED_AT: 'tomorrow' }).problem).toContain('2026-01-31');
  });
});

describe('placeholders', () => {
  it('are filled by name, and other braces stay', () => {
    const values = new Map([['lr', '1e-4']]);
    expect(fillPlaceholders('--lr={lr} --ckpt={} --json={"a":{b}} {LR}', values)).toBe('--lr=1e-4 --ckpt={} --json={"a":{b}} {LR}');
  });

  it('are not filled a second time by a value', () => {
    expect(
      fillPlaceholders(
        '{a}{b}',
        new Map([
          ['a', '{b}'],
          ['b', 'x'],
        ]),
      ),
    ).toBe('{b}x');
  });
});
