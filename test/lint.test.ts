import { chmodSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseAllDocuments } from 'yaml';
import { describe, expect, it } from 'vitest';
import { RULES } from '../src/lint/catalogue.ts';
import { LAUNCHER, type ProcessOptions, type ProcessResult, ROOT, runProcess } from './support/run-process.ts';
import { sarifFault } from './support/sarif-fault.ts';
import { tempFolder } from './support/temp-folder.ts';

const JOB = `# What trains
kind: Job
metadata: { name: a }
spec:
  backoffLimit: 1   # one error
  template:
    spec:
      restartPolicy: Always
      containers:
      - name: trainer
        command: [python, train.py]
`;

/** What the tests read of a log; its schema checks the rest. */
interface SarifLog {
  readonly runs: readonly [
    {
      readonly tool: { readonly driver: { readonly rules: readonly { readonly id: string }[] } };
      readonly results: readonly {
        readonly ruleId: string;
        readonly ruleIndex: number;
        readonly fixes?: object;
        readonly suppressions?: object;
      }[];
      readonly invocations: readonly { readonly toolExecutionNotifications: readonly object[] }[];
    },
  ];
}

function holdfast(args: readonly string[], options: ProcessOptions = {}): Promise<ProcessResult> {
  return runProcess(LAUNCHER, args, { cwd: ROOT, ...options });
}

describe('holdfast lint', () => {
  it('exits with 1 on findings, 0 without, 2 on unreadable input, 3 on empty input', async () => {
    using folder = tempFolder();
    const write = (name: string, text: string): string => {
      writeFileSync(join(folder.path, name), text);
      return join(folder.path, name);
    };
    mkdirSync(join(folder.path, 'empty'));
    const broken = write('broken.yaml', 'kind: Job\nspec: {a: [}\n');
    const codes = await Promise.all([
      holdfast(['lint', write('job.yaml', JOB)]),
      holdfast(['lint', 'examples/kubernetes']),
      holdfast(['lint', 'examples/kubernetes', broken]),
      holdfast(['lint', join(folder.path, 'empty')]),
      holdfast(['lint', join(folder.path, 'none')]),
      holdfast(['lint', join(folder.path, 'job.yaml'), '--fail-on=never']),
      holdfast(['lint', join(folder.path, 'job.yaml'), '--rule=NO_SUCH_RULE']),
      holdfast(['lint', write('other.yaml', 'a: b\n')]),
      holdfast(['lint', write('unknown.yaml', 'kind: Whatever\n')]),
    ]);
    expect(codes.map(({ code }) => code)).toEqual([1, 0, 2, 3, 66, 0, 64, 3, 0]);
    expect(codes[7]?.stdout).toContain('Nothing was linted');
    expect(codes[2]?.stderr).toContain('broken.yaml:2:');
  });

  it('reads the output of helm template from standard input', async () => {
    const { code, stdout } = await holdfast(['lint', '-', '-q'], { input: JOB });
    expect({ code, stdout }).toEqual({ code: 1, stdout: expect.stringContaining('-:8:7 JOB_RESTART_ALWAYS\n') });
  });

  it('shows the changes of --fix with --diff, and --fix keeps comments and permissions', async () => {
    using folder = tempFolder();
    const path = join(folder.path, 'job.yaml');
    writeFileSync(path, JOB);
    chmodSync(path, 0o640);
    const { stdout } = await holdfast(['lint', path, '--diff']);
    expect(stdout).toContain('-      restartPolicy: Always\n');
    expect(readFileSync(path, 'utf8')).toBe(JOB);
    await holdfast(['lint', path, '--fix']);
    const fixed = readFileSync(path, 'utf8');
    expect(fixed).toContain('  backoffLimit: 1   # one error\n');
    expect(fixed).toContain('      restartPolicy: Never\n');
    expect(fixed).toContain('  podFailurePolicy:\n    rules:\n');
    expect(statSync(path).mode & 0o777).toBe(0o640);
    await holdfast(['lint', path, '--fix']);
    expect(readFileSync(path, 'utf8')).toBe(fixed);
  });

  it('keeps a byte order mark and the ends of the lines when it fixes', async () => {
    using folder = tempFolder();
    const path = join(folder.path, 'job.yaml');
    writeFileSync(path, `\uFEFF${JOB.replaceAll('\n', '\r\n')}`);
    await holdfast(['lint', path, '--fix', '--rule=JOB_RESTART_ALWAYS']);
    expect(readFileSync(path, 'utf8')).toBe(`\uFEFF${JOB.replace('Always', 'Never').replaceAll('\n', '\r\n')}`);
  });

  it('prints JSON of its documented schema', async () => {
    const { stdout } = await holdfast(['lint', '--json', '-'], { input: JOB });
    const report = JSON.parse(stdout) as { schema: string; findings: object[]; counts: object };
    expect(report.schema).toBe('holdfast.lint/1');
    const page = readFileSync(join(ROOT, 'docs/reference/lint-json.md'), 'utf8');
    for (const key of [...Object.keys(report), ...Object.keys(report.findings[0] ?? {}), ...Object.keys(report.counts)])
      expect(page).toContain(key);
  });

  it('prints SARIF that is valid against its schema, also with skips, suppressions and fixes', async () => {
    using folder = tempFolder();
    writeFileSync(join(folder.path, 'a file.yaml'), `# holdfast-lint: off JOB_NO_TTL a test\n${JOB}`);
    writeFileSync(join(folder.path, 'broken.yaml'), 'kind: Job\nspec: {a: [}\n');
    const { stdout } = await holdfast(['lint', folder.path, 'test/fixtures/lint', 'examples', '--format=sarif']);
    const log = JSON.parse(stdout) as SarifLog;
    expect(sarifFault(log)).toBeNull();
    const [{ tool, results, invocations }] = log.runs;
    expect(tool.driver.rules.map(({ id }) => id)).toEqual(RULES.map(({ code }) => code));
    for (const { ruleId, ruleIndex } of results) expect(RULES[ruleIndex]?.code).toBe(ruleId);
    expect(results.some(({ fixes }) => fixes !== undefined)).toBe(true);
    expect(results.some(({ suppressions }) => suppressions !== undefined)).toBe(true);
    expect(invocations[0]?.toolExecutionNotifications).not.toEqual([]);
  });

  it('the check of SARIF finds a log that does not follow the schema', () => {
    expect(sarifFault({ version: '2.1.0', runs: [{ results: [] }] })).toContain("required property 'tool'");
  });

  it('prints workflow commands for GitHub, one on each line, with everything escaped', async () => {
    const { stdout } = await holdfast(['lint', '-', '--format=github'], { input: JOB.replace('name: a', 'name: "a%b,c:d"') });
    const lines = stdout.trimEnd().split('\n');
    for (const line of lines)
      expect(line).toMatch(/^::(?:error|warning|notice) file=[^,:]+,line=\d+,endLine=\d+,col=\d+,endColumn=\d+,title=[A-Z0-9_]+::.+$/);
    expect(stdout).toContain('a%25b,c:d');
  });

  it('finds problems that only a manifest and its script together show', async () => {
    using folder = tempFolder();
    writeFileSync(
      join(folder.path, 'train.py'),
      'import torch\nfor x in data:\n    net(x).backward()\n    torch.save(net.state_dict(), "/elsewhere/a.pt")\n',
    );
    writeFileSync(join(folder.path, 'job.yaml'), JOB);
    const { stdout } = await holdfast(['lint', folder.path, '--rule=SCRIPT_FOLDER_NOT_MOUNTED']);
    expect(stdout).toContain('/elsewhere, where no volume is mounted');
  });
});

describe('holdfast adopt', () => {
  it('prints a manifest without lint findings, and leaves other documents unchanged', async () => {
    const other = 'kind: ConfigMap\ndata: {a:   "b"}\n';
    const { code, stdout } = await holdfast(['adopt', '-f', '-', '-q'], { input: `${JOB}---\n${other}` });
    expect(code).toBe(0);
    expect(stdout).toContain(other);
    expect(stdout).toContain('# one error');
    expect(await holdfast(['lint', '-'], { input: stdout })).toMatchObject({ code: 0, stdout: expect.stringContaining('No findings') });
    const [job] = parseAllDocuments(stdout);
    if (job === undefined || !('toJS' in job)) throw new Error('there is no document');
    const { spec } = job.toJS() as { spec: { template: { spec: { containers: { command: string[] }[] } } } };
    expect(spec.template.spec.containers[0]?.command).toEqual([
      'holdfast',
      'run',
      '--dir=/runs/a',
      '--grace=120s',
      '--every=auto',
      '--keep=3',
      '--notice-file=/podinfo/annotations',
      '--',
      'python',
      'train.py',
    ]);
  });

  it('uses only options of holdfast run', async () => {
    const { stdout } = await holdfast(['adopt', '-f', 'test/fixtures/lint/articles/course-job.yaml', '-q', '--ship=s3://b/p']);
    const { run } = await import('../src/cli/commands/run/run.ts');
    const used = [...stdout.matchAll(/^\s+- --([a-z-]+)=/gm)].map(([, name = '']) => name).slice(0, 6);
    expect(used).toContain('ship');
    expect(used.filter((name) => !(name in run.options))).toEqual([]);
  });

  it('exits with 64 without a file, and with 3 if no object trains', async () => {
    expect((await holdfast(['adopt'])).code).toBe(64);
    expect((await holdfast(['adopt', '-f', '-'], { input: 'kind: ConfigMap\n' })).code).toBe(3);
  });
});
