import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { adopt } from './adopt/adopt.ts';
import { fixAll } from './fix.ts';
import { lint } from './lint.ts';
import { unifiedDiff } from './engine/unified-diff.ts';
import { simpleShape } from '../../test/support/manifest-shapes.ts';
import { IS_WHOLE } from '../../test/support/slice.ts';

const OPTIONS = { codes: null, saveMs: null };
const WISHES = { dir: null, claim: null, graceSeconds: null, ship: null };
const PIECES = [
  'kind: Job\n',
  'spec:\n',
  '  template:\n',
  '    spec:\n',
  '---\n',
  '- ',
  '{',
  '}',
  '[',
  ']',
  '&a ',
  '*a',
  '<<: *a\n',
  '"',
  "'",
  '|\n',
  ': ',
  '#',
  '\t',
  '{{ .Values.x }}',
  '$(A)',
  '!!binary ',
  '? ',
  '\n',
  '  containers:\n',
  'command: [sh, -c, "a | b"]\n',
];
const WORDS = [
  'import torch\n',
  'def f(x):\n',
  '    return x\n',
  'signal.signal(signal.SIGTERM, f)\n',
  'for i in range(3):\n',
  '    torch.save(x, "a" + ',
  '(',
  ')',
  '[',
  '"""',
  "f'{a",
  '}',
  ':',
  '\\\n',
  '\t',
  'lambda: ',
  'with open(p) as f:\n',
  'print "x"\n',
  '@',
  'class A:\n',
  '    ',
  'yield',
  '1.',
  'f(f(',
  '\n',
];

describe('hostile input', () => {
  it('no YAML makes lint throw, and what was not read is named', () => {
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string(),
          fc.array(fc.constantFrom(...PIECES), { maxLength: 60 }).map((parts) => parts.join('')),
        ),
        (text) => {
          const { findings, skips } = lint([{ path: 'a.yaml', text }], OPTIONS);
          for (const { start } of [...findings, ...skips]) expect(start.line).toBeLessThanOrEqual(text.split('\n').length);
        },
      ),
      { numRuns: IS_WHOLE ? 500 : 100 },
    );
  });

  it('no Python makes lint throw', () => {
    fc.assert(
      fc.property(fc.array(fc.oneof(fc.constantFrom(...WORDS), fc.string({ maxLength: 5 })), { maxLength: 80 }), (parts) => {
        lint([{ path: 'a.py', text: `import torch\n${parts.join('')}` }], OPTIONS);
      }),
      { numRuns: IS_WHOLE ? 500 : 100 },
    );
  });

  it('a manifest of any shape is linted, fixed for good and adopted', () => {
    fc.assert(
      fc.property(simpleShape, (text) => {
        const source = { path: 'a.yaml', text };
        const fixed = fixAll([source], OPTIONS, () => true)[0] ?? source;
        expect(lint([fixed], OPTIONS).skips).toEqual([]);
        expect(fixAll([fixed], OPTIONS, () => true)).toEqual([]);
        expect(adopt(text, WISHES).skips).toEqual([]);
      }),
      { numRuns: IS_WHOLE ? 300 : 60 },
    );
  });

  it('a fix ends its lines as the file does', () => {
    const text =
      'kind: Job\nmetadata:\n  name: a\nspec:\n  template:\n    spec:\n      restartPolicy: OnFailure # why\n      containers: [{ name: a, command: [python, train.py] }]\n';
    const fixed = (path: string, source: string) => fixAll([{ path, text: source }], OPTIONS, () => true)[0]?.text;
    const made = fixed('a.yaml', text);
    expect(made).toContain('podFailurePolicy:\n');
    expect(fixed('b.yaml', text.replaceAll('\n', '\r\n'))).toBe(made?.replaceAll('\n', '\r\n'));
  });

  it('a script in which everything is assigned and called thousands of times is linted to its end', () => {
    const times = (count: number, line: string): string => line.repeat(count);
    const chained = `import torch\nx = "a"\n${times(3000, 'x = x + "b"\n')}torch.save(m, x)\n`;
    const flag = 'import signal, torch\ndef on(s, f):\n    global stop\n    stop = True\nsignal.signal(signal.SIGTERM, on)\n';
    const tested = `${flag}for e in range(9):\n${times(5000, '    if stop: save()\n')}`;
    const levels = [0, 1, 2, 3].map((level) => `def f${level}():\n${times(1500, `    f${level + 1}()\n`)}`).join('');
    const called = `${flag}${levels}def f4():\n    loss.backward()\n    torch.save(m, "/a/x.pt")\n    sys.exit(code)\n`;
    const sources = [chained, tested, called].map((text, index) => ({ path: `${index}.py`, text }));
    expect(lint(sources, OPTIONS)).toMatchObject({ skips: [], scripts: 3 });
  });

  it('an alias bomb costs nothing, and one of merges is given up', () => {
    const levels = Array.from({ length: 40 }, (_, level) => `l${level + 1}: &l${level + 1} [*l${level}, *l${level}, *l${level}]`);
    const bomb = `kind: Job\nl0: &l0 [x]\n${levels.join('\n')}\n`;
    expect(lint([{ path: 'a.yaml', text: bomb }], OPTIONS).skips).toEqual([]);
    const merges = Array.from(
      { length: 25 },
      (_, level) => `m${level + 1}: &m${level + 1} { k${level}a: *m${level}, <<: [*m${level}, *m${level}] }`,
    );
    lint([{ path: 'a.yaml', text: `kind: Job\nm0: &m0 { a: b }\n${merges.join('\n')}\n` }], OPTIONS);
  });

  it('what is nested too deeply is named and not read', () => {
    const deep = `kind: Job\nspec: ${'['.repeat(100_000)}\n`;
    expect(lint([{ path: 'a.yaml', text: deep }], OPTIONS).skips).toMatchObject([{ kind: 'too-deep' }]);
    expect(() => lint([{ path: 'a.py', text: `import torch\nx = ${'('.repeat(20_000)}\n` }], OPTIONS)).not.toThrow();
  });

  it('a broken document is named with line and column, and those around it are linted', () => {
    const job = 'kind: Job\nspec: { template: { spec: { restartPolicy: Always, containers: [{ name: a }] } } }\n';
    const { findings, skips } = lint([{ path: 'a.yaml', text: `${job}---\nkind: Job\nspec: {a: [}\n---\n${job}` }], OPTIONS);
    expect(skips).toMatchObject([{ kind: 'broken-yaml', start: { line: 5 } }]);
    expect(findings.map(({ code, start }) => [code, start.line])).toEqual([
      ['JOB_RESTART_ALWAYS', 2],
      ['JOB_RESTART_ALWAYS', 8],
    ]);
  });

  it.each([
    ['template', 'a.yaml', 'kind: Job\nspec:\n  backoffLimit: {{ .Values.limit }}\n'],
    ['python-2', 'a.py', 'import torch\nprint "x"\n'],
    ['not-python', 'a.py', 'import torch\ndef f(:\n    pass\n'],
  ])('says %s of what it is', (kind, path, text) => {
    expect(lint([{ path, text }], OPTIONS).skips).toMatchObject([{ kind }]);
  });

  it('Python that the grammar lacks is read all the same', () => {
    const text =
      'import torch\ndef f():\n    x = yield\n    yield\n\f\ny = [1., 2.]\nmatch y:\n    case list():\n        pass\nwith f() as (a, b):\n    pass\n';
    expect(lint([{ path: 'a.py', text }], OPTIONS)).toMatchObject({ skips: [], scripts: 1 });
  });

  it('yes, no, on and off are booleans, as Kubernetes reads YAML', () => {
    const probe = (value: string): string =>
      `kind: Job\nspec: { template: { spec: { restartPolicy: Never, containers: [{ name: a, command: [python, train.py, --output-dir=/a], volumeMounts: [{ name: a, mountPath: /a, readOnly: ${value} }] }], volumes: [{ name: a, persistentVolumeClaim: { claimName: a } }], nodeSelector: { cloud.google.com/gke-spot: "true" } } } }\n`;
    const codes = (value: string): readonly string[] =>
      lint([{ path: 'a.yaml', text: probe(value) }], OPTIONS).findings.map(({ code }) => code);
    expect(codes('yes')).toContain('SPOT_WITHOUT_COPIES');
    expect(codes('off')).not.toContain('SPOT_WITHOUT_COPIES');
  });
});

describe('parts of manifests and scripts, as articles print them', () => {
  const codes = (path: string, text: string): readonly string[] => lint([{ path, text }], OPTIONS).findings.map(({ code }) => code);

  it('a container is judged by what it has, and not by what may be somewhere else', () => {
    expect(codes('a.yaml', 'command:\n- torchrun\n- --min-nodes=2\n- train.py\n')).toEqual(['TORCHRUN_UNKNOWN_OPTION']);
  });

  it('the spec of a pod is judged without its kind', () => {
    const text =
      'spec:\n  nodeSelector: { cloud.google.com/gke-spot: "true" }\n  tolerations: [{ key: kubernetes.azure.com/scalesetpriority, operator: Exists }]\n';
    expect(codes('a.yaml', text)).toEqual(['TOLERATION_UNUSED']);
  });

  it('other YAML without a kind is no part of a manifest', () => {
    const { objects, otherKinds } = lint([{ path: 'a.yaml', text: 'services: { web: { command: [a] } }\n' }], OPTIONS);
    expect([objects, [...otherKinds.keys()]]).toEqual([0, ['no kind']]);
  });

  it('adopt leaves a part of a manifest alone', () => {
    const text = 'command: [torchrun, train.py]\n';
    expect(adopt(text, WISHES)).toMatchObject({ text, adopted: 0 });
  });

  it('a script on standard input is recognized as Python', () => {
    expect(codes('-', 'import torch\ntorch.load(path, weights_only=False)\n')).toEqual(['LOADS_ANY_PICKLE']);
  });
});

describe('anchors, merges and odd keys', () => {
  const codes = (text: string): readonly string[] => lint([{ path: 'a.yaml', text }], OPTIONS).findings.map(({ code }) => code);
  const fixed = (text: string): string => fixAll([{ path: 'a.yaml', text }], OPTIONS, () => true)[0]?.text ?? text;
  const containers = 'containers: [{ name: a, command: [python, train.py] }]';

  it('a pod has what a merge brings in', () => {
    const text = `kind: Job\nx: &base { restartPolicy: Never, terminationGracePeriodSeconds: 300 }\nspec: { template: { spec: { <<: *base, ${containers} } } }\n`;
    expect(codes(text)).not.toContain('JOB_RESTART_ALWAYS');
    expect(codes(text)).not.toContain('GRACE_TOO_SHORT');
  });

  it('a fix leaves alone what another object has in common with this one', () => {
    const template = `template: &shared { spec: { restartPolicy: Always, ${containers} } }`;
    const text = `kind: List\nitems:\n- kind: Deployment\n  spec: { ${template} }\n- kind: Job\n  spec: { template: *shared }\n`;
    expect(codes(text)).toContain('JOB_RESTART_ALWAYS');
    expect(fixed(text)).toContain(template);
  });

  it('a fix adds nothing before a key that does not begin its line', () => {
    const text = `kind: Job\nspec:\n  ? template\n  : spec:\n      restartPolicy: OnFailure\n      ${containers}\n`;
    expect(fixed(text)).toBe(text.replace('OnFailure', 'Never'));
  });

  it('a text that was quoted stays quoted', () => {
    expect(fixed(`kind: Job\nspec: { template: { spec: { restartPolicy: "OnFailure", ${containers} } } }\n`)).toContain(
      'restartPolicy: "Never"',
    );
  });
});

describe('the diff', () => {
  it('applied to the old text gives the new one, whatever the texts are', () => {
    const lines = fc.array(fc.constantFrom('a', 'b', 'c', ''), { maxLength: 30 }).map((all) => `${all.join('\n')}\n`);
    fc.assert(
      fc.property(lines, lines, (before, after) => {
        const diff = unifiedDiff('x', before, after);
        expect(apply(before, diff)).toBe(before === after ? before : after);
      }),
    );
  });
});

/** What `patch` does. */
function apply(before: string, diff: readonly string[]): string {
  const old = before.replace(/\n$/, '').split('\n');
  const made: string[] = [];
  let at = 0;
  for (const line of diff.slice(2)) {
    const [, start] = /^@@ -(\d+)/.exec(line) ?? [];
    if (start !== undefined) {
      while (at < Number(start) - 1) made.push(old[at++] ?? '');
    } else if (line.startsWith('+')) made.push(line.slice(1));
    else {
      expect(old[at]).toBe(line.slice(1));
      if (line.startsWith(' ')) made.push(line.slice(1));
      at++;
    }
  }
  return `${[...made, ...old.slice(at)].join('\n')}\n`;
}
