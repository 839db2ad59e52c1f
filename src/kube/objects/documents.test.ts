import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { eventOf } from './event.ts';
import { jobOf } from './job.ts';
import { nodeOf } from './node.ts';
import { objectOf } from './object.ts';
import { parseDocuments } from './parse-documents.ts';
import { podOf } from './pod.ts';
import { parseQuantity } from './quantity.ts';
import { templatesOf } from './templates.ts';

const names = (text: string): readonly string[] => parseDocuments(text, 'dump').objects.map(({ kind, name }) => `${kind}/${name}`);
const reasons = (text: string): readonly string[] => parseDocuments(text, 'dump').problems.map(({ reason }) => reason);

describe('parseDocuments', () => {
  it('reads a List of mixed kinds, as kubectl get -o json prints it', () => {
    const items = [
      { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'a' } },
      { apiVersion: 'batch/v1', kind: 'Job', metadata: { name: 'b' } },
    ];
    expect(names(JSON.stringify({ apiVersion: 'v1', kind: 'List', items }))).toEqual(['Pod/a', 'Job/b']);
  });

  it('gives the entries of a typed list the kind of the list, since they do not repeat it', () => {
    expect(names(JSON.stringify({ kind: 'PodList', apiVersion: 'v1', items: [{ metadata: { name: 'a' } }] }))).toEqual(['Pod/a']);
  });

  it('gives an object what a merge of YAML brings in', () => {
    const text = 'kind: Job\nx: &base { suspend: true }\nmetadata: { name: a }\nspec: { <<: *base, parallelism: 2 }\n';
    expect(parseDocuments(text, 'dump').objects[0]?.fields['spec']).toEqual({ suspend: true, parallelism: 2 });
  });

  it('reads several documents of JSON in a row', () => {
    const one = JSON.stringify({ kind: 'Pod', metadata: { name: 'a' } });
    expect(names(`${one}\n${one.replace('"a"', '"b"')}`)).toEqual(['Pod/a', 'Pod/b']);
  });

  it('reads the whole objects of a truncated dump, and reports that it is truncated', () => {
    const items = Array.from({ length: 5 }, (_, i) => ({ kind: 'Pod', metadata: { name: `p${i}` } }));
    const text = JSON.stringify({ kind: 'List', items });
    expect(names(text.slice(0, text.indexOf('p3')))).toEqual(['Pod/p0', 'Pod/p1', 'Pod/p2']);
    expect(reasons(text.slice(0, text.indexOf('p3')))).toEqual([
      'it ends in the middle of a document; 3 whole objects were read before that',
    ]);
  });

  it('names line and column of broken YAML, and still reads the other documents', () => {
    const text = 'kind: Pod\nmetadata: { name: a }\n---\nkind: Pod\nmetadata:\n  name: "b\n---\nkind: Job\nmetadata: { name: c }\n';
    const { objects, problems } = parseDocuments(text, 'x.yaml');
    expect(objects.map(({ name }) => name)).toEqual(['a', 'c']);
    expect(problems).toHaveLength(1);
    expect(problems[0]).toMatchObject({ source: 'x.yaml', reason: expect.stringContaining('no YAML') as string });
    expect(problems[0]?.line).toBeGreaterThanOrEqual(4);
  });

  it('names line and column of a key that a map gives twice', () => {
    const { objects, problems } = parseDocuments('kind: Pod\nmetadata: { name: a }\nspec:\n  x: 1\n  x: 2\n', 'x.yaml');
    expect(objects).toEqual([]);
    expect(problems).toEqual([{ source: 'x.yaml', line: 5, column: 3, reason: 'it is no YAML: Map keys must be unique' }]);
  });

  it('names a template that was not rendered', () => {
    expect(reasons('kind: Pod\nmetadata:\n  name: {{ .Values.name }}\n  {{- if x }}\n')[0]).toMatch(/template that was not rendered/);
  });

  it('refuses a document with an anchor bomb', () => {
    const bomb = `a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n${Array.from({ length: 9 }, (_, i) => `a${i + 1}: &a${i + 1} [${`*a${i}, `.repeat(10)}]`).join('\n')}\n`;
    expect(parseDocuments(bomb, 'bomb').objects).toEqual([]);
    expect(reasons(bomb)).toHaveLength(1);
  });

  it('keeps an object of an unknown kind', () => {
    expect(names('apiVersion: example.com/v9\nkind: Unheard\nmetadata: {name: of}\n')).toEqual(['Unheard/of']);
  });

  it('never throws on any text', () => {
    const word = fc.constantFrom(
      '{',
      '}',
      '[',
      ']',
      '"',
      '---\n',
      'kind: Pod\n',
      '"items":[',
      ':',
      '\n',
      '- ',
      '&a ',
      '*a ',
      '\\',
      '{{',
      'é',
    );
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string(),
          fc.array(word, { maxLength: 60 }).map((words) => words.join('')),
        ),
        (text) => {
          parseDocuments(text, 'x');
        },
      ),
    );
  });
});

describe('the readers of kinds', () => {
  it('never throw on any value of a field', () => {
    const keys = fc.constantFrom(
      'metadata',
      'name',
      'kind',
      'spec',
      'status',
      'containers',
      'conditions',
      'containerStatuses',
      'template',
      'items',
    );
    const { tree } = fc.letrec<{ tree: unknown }>((tie) => ({
      tree: fc.oneof(
        { maxDepth: 6 },
        fc.anything({ maxDepth: 1 }),
        fc.dictionary(keys, tie('tree')),
        fc.array(tie('tree'), { maxLength: 3 }),
      ),
    }));
    const kinds = fc.constantFrom('Pod', 'Job', 'Node', 'Event', 'CronJob', 'JobSet', 'PyTorchJob');
    fc.assert(
      fc.property(kinds, tree, tree, (kind, spec, status) => {
        const object = objectOf({ kind, metadata: { name: 'x' }, spec, status, involvedObject: spec });
        if (object === null) throw new Error('an object with kind and name is one');
        podOf(object);
        jobOf(object);
        nodeOf(object);
        eventOf(object);
        templatesOf(object);
      }),
    );
  });

  it('find the pods of a PyTorchJob by their roles', () => {
    const replica = { template: { spec: { terminationGracePeriodSeconds: 90, containers: [{ name: 'pytorch' }] } } };
    const object = objectOf({
      kind: 'PyTorchJob',
      metadata: { name: 'x' },
      spec: { pytorchReplicaSpecs: { Master: replica, Worker: replica } },
    });
    expect(object && templatesOf(object).map(({ role, spec }) => [role, spec.graceSeconds])).toEqual([
      ['Master', 90],
      ['Worker', 90],
    ]);
  });
});

describe('parseQuantity', () => {
  it.each([
    ['500m', 0.5],
    ['16Gi', 16 * 2 ** 30],
    ['1e3', 1000],
    ['2', 2],
    [8, 8],
    ['1.5k', 1500],
    ['lots', null],
    ['1 Gi', null],
    [null, null],
  ])('reads %s as %s', (text, number) => {
    expect(parseQuantity(text)).toBe(number);
  });
});
