import { globSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { adopt } from '../src/lint/adopt/adopt.ts';
import { fixAll } from '../src/lint/fix.ts';
import { lint } from '../src/lint/lint.ts';
import type { Source } from '../src/lint/source/source.ts';
import { ROOT } from './support/run-process.ts';

const OPTIONS = { codes: null, saveMs: null };

function sourcesIn(...patterns: readonly string[]): readonly Source[] {
  return patterns.flatMap((pattern) =>
    globSync(pattern, { cwd: ROOT })
      .sort()
      .map((path) => ({ path, text: readFileSync(join(ROOT, path), 'utf8') })),
  );
}

function codesOf(sources: readonly Source[]): readonly string[] {
  const { findings, skips } = lint(sources, OPTIONS);
  expect(skips).toEqual([]);
  return findings.map(({ code }) => code).sort();
}

const HEALTHY = sourcesIn('test/fixtures/lint/healthy/*');
const TROUBLED = sourcesIn('test/fixtures/lint/troubled/*');

describe('the corpus of ordinary manifests and scripts', () => {
  it('has at least sixty files, about half of them healthy', () => {
    expect(HEALTHY.length).toBeGreaterThanOrEqual(30);
    expect(HEALTHY.length + TROUBLED.length).toBeGreaterThanOrEqual(60);
  });

  it.each(HEALTHY.map((source) => [basename(source.path), source] as const))('nothing is found in the healthy %s', (_, source) => {
    expect(lint([source], OPTIONS).findings.map(({ code, start, message }) => `${start.line} ${code} ${message}`)).toEqual([]);
  });

  it.each(TROUBLED.map((source) => [basename(source.path), source] as const))(
    'lint finds exactly the codes of its first line in %s',
    (_, source) => {
      const expected = /^# expect: (.*)$/m.exec(source.text)?.[1]?.split(', ') ?? [];
      expect(codesOf([source])).toEqual(expected.sort());
    },
  );

  it.each(TROUBLED.filter(({ path }) => path.endsWith('.yaml')).map((source) => [basename(source.path), source] as const))(
    'a fix of %s is complete, and a second fix changes nothing',
    (_, source) => {
      const after = fixAll([source], OPTIONS, () => true)[0] ?? source;
      expect(lint([after], OPTIONS).findings.filter(({ edits }) => edits.length > 0)).toEqual([]);
      expect(fixAll([after], OPTIONS, () => true)).toEqual([]);
    },
  );
});

/** What only a person can decide, and adopt therefore leaves and names. */
const LEFT_BY_ADOPT: Readonly<Record<string, readonly string[]>> = {
  'budget.yaml': ['BUDGET_BLOCKS_DRAINS'],
  'priority.yaml': ['PREEMPTION_POLICY_INVALID', 'PREEMPTION_NEVER_IS_NO_SHIELD'],
  'torchrun-flags.yaml': ['TORCHRUN_UNKNOWN_OPTION'],
  'variable.yaml': ['ARGUMENT_VARIABLE_UNKNOWN'],
};

describe('what adopt prints', () => {
  const manifests = sourcesIn('test/fixtures/lint/*/*.yaml');
  it.each(manifests.map(({ path, text }) => [basename(path), text] as const))(
    'for %s has no finding, except those that only a person can decide',
    (name, text) => {
      const adopted = adopt(text, { dir: null, claim: null, graceSeconds: null, ship: null });
      expect(codesOf([{ path: name, text: adopted.text }])).toEqual([...(LEFT_BY_ADOPT[name] ?? [])].sort());
    },
  );

  it('mounts the claim beside a volume of the same name', () => {
    const { text } = adopt(readFileSync(join(ROOT, 'test/fixtures/lint/troubled/in-container.yaml'), 'utf8'), {
      dir: null,
      claim: 'checkpoints',
      graceSeconds: null,
      ship: null,
    });
    expect(text).toMatch(/name: runs-2,?\s+mountPath: \/ckpt\b/);
    expect(text).toMatch(/name: runs-2,?\s+persistentVolumeClaim:[\s{]+claimName: checkpoints\b/);
  });
});

describe('the examples of Holdfast', () => {
  it('have no finding at all, manifests and scripts together', () => {
    const sources = sourcesIn('examples/**/*.{yaml,py}');
    const { findings, skips } = lint(sources, OPTIONS);
    expect(findings.map(({ path, code, start }) => `${path}:${start.line} ${code}`)).toEqual([]);
    expect(skips).toEqual([]);
  });
});

/** The findings in manifests and scripts like the ones in widely read articles, file by file. */
const ARTICLES: Readonly<Record<string, readonly string[]>> = {
  'course-cron.yaml': [
    '7 CRON_NO_STARTING_DEADLINE',
    '7 CRON_NO_TIME_ZONE',
    '13 JOB_NO_DISRUPTION_POLICY',
    '14 JOB_DEADLINE_COUNTS_WAITING',
    '17 GRACE_TOO_SHORT',
    '24 SHELL_SYNTAX_WITHOUT_SHELL',
    '25 CHECKPOINT_IN_CONTAINER',
    '26 NO_EPHEMERAL_STORAGE_LIMIT',
  ],
  'course-elastic.yaml': [
    '9 PYTORCHJOB_RESTART_POLICY',
    '12 GRACE_TOO_SHORT',
    '14 TOLERATION_UNUSED',
    '16 SPOT_WITHOUT_COPIES',
    '18 NO_EPHEMERAL_STORAGE_LIMIT',
    '18 NO_MEMORY_LIMIT',
    '23 TORCHRUN_UNKNOWN_OPTION',
    '24 ELASTIC_WITHOUT_CHECKPOINT',
    '24 ELASTIC_WITHOUT_RESTARTS',
    '24 TORCHRUN_UNKNOWN_OPTION',
    '25 TORCHRUN_ETCD',
    '25 TORCHRUN_NO_RDZV_ID',
  ],
  'course-job.yaml': [
    '7 JOB_NO_DISRUPTION_POLICY',
    '8 JOB_DEADLINE_COUNTS_WAITING',
    '12 GRACE_TOO_SHORT',
    '18 TEMPORARY_SHARED_BY_PODS',
    '21 NO_EPHEMERAL_STORAGE_LIMIT',
  ],
  'course-pytorchjob.yaml': [
    '10 PYTORCHJOB_RESTART_POLICY',
    '13 GRACE_TOO_SHORT',
    '27 NO_EPHEMERAL_STORAGE_LIMIT',
    '34 CLAIM_OF_ONE_NODE',
    '37 PYTORCHJOB_RESTART_POLICY',
  ],
  'course-sweep.yaml': [
    '5 JOB_NO_TTL',
    '8 SWEEP_SHARES_BACKOFF',
    '11 GRACE_TOO_SHORT',
    '11 JOB_RESTART_ALWAYS',
    '16 NO_EPHEMERAL_STORAGE_LIMIT',
    '16 NO_MEMORY_LIMIT',
  ],
  'course-snippets.md': [
    '9 TORCHRUN_UNKNOWN_OPTION',
    '10 ELASTIC_WITHOUT_CHECKPOINT',
    '10 ELASTIC_WITHOUT_RESTARTS',
    '10 TORCHRUN_UNKNOWN_OPTION',
    '11 TORCHRUN_ETCD',
    '11 TORCHRUN_NO_RDZV_ID',
    '25 TOLERATION_UNUSED',
    '39 SWEEP_SHARES_BACKOFF',
    '47 SHELL_HIDES_SIGTERM',
    '47 SHELL_LOSES_EXIT_CODE',
    '53 CRON_NO_STARTING_DEADLINE',
    '53 CRON_NO_TIME_ZONE',
    '54 CRON_OVERLAPS',
    '74 SIGTERM_POLLED_PER_EPOCH',
    '75 NEVER_RESUMES',
    '75 ONLY_WEIGHTS_SAVED',
    '75 SAVE_IN_PLACE',
    '76 SIGTERM_EXITS_ZERO',
  ],
  'course_distributed.py': [
    '16 MODULE_PREFIX_DIFFERS',
    '36 LAST_EPOCHS_NOT_SAVED',
    '37 NO_SIGTERM_HANDLER',
    '37 RANDOM_STATE_NOT_SAVED',
    '37 RANK_0_SAVES_WITHOUT_BARRIER',
    '37 SAVE_IN_PLACE',
  ],
  'course_train.py': [
    '31 RANDOM_STATE_NOT_SAVED',
    '32 RENAME_WITHOUT_FSYNC',
    '62 OPTIMIZER_RESTORED_BEFORE_DEVICE',
    '66 LAST_EPOCHS_NOT_SAVED',
    '68 SIGTERM_POLLED_PER_EPOCH',
    '69 EMERGENCY_FILE_NEVER_LOADED',
    '70 SIGTERM_EXITS_ZERO',
  ],
  'node-pressure.yaml': ['2 POD_WITHOUT_OWNER', '10 NO_EPHEMERAL_STORAGE_LIMIT', '11 NO_MEMORY_LIMIT'],
  'preemption-snippets.md': [
    '5 PREEMPTION_POLICY_INVALID',
    '12 EVENT_REASON_PREEMPTING',
    '13 CONDITION_NEVER_TRUE',
    '23 SIGTERM_EXITS_ZERO',
    '25 SIGTERM_SAVES_IN_HANDLER',
  ],
  'priority.yaml': [
    '17 PREEMPTION_POLICY_INVALID',
    '20 POD_WITHOUT_OWNER',
    '23 GRACE_TOO_SHORT',
    '23 PREEMPTION_NEVER_IS_NO_SHIELD',
    '27 NO_EPHEMERAL_STORAGE_LIMIT',
    '27 NO_MEMORY_LIMIT',
  ],
  'spot_handler.py': ['11 SIGTERM_EXITS_ZERO', '14 SIGTERM_SAVES_IN_HANDLER'],
};

describe('manifests and scripts of widely read articles', () => {
  const sources = sourcesIn('test/fixtures/lint/articles/*');
  const { findings } = lint(sources, OPTIONS);

  it.each(sources.map(({ path }) => [basename(path), path] as const))('in %s exactly the traps of the table are named', (name, path) => {
    expect(findings.filter((finding) => finding.path === path).map(({ code, start }) => `${start.line} ${code}`)).toEqual(ARTICLES[name]);
  });
});
