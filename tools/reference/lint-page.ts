import { wrap } from '../../src/cli/output/table.ts';
import type { Example, Rule } from '../../src/lint/engine/rule.ts';
import type { Severity } from '../../src/lint/source/finding.ts';

const GROUPS: readonly (readonly [on: readonly Rule['on'][], heading: string])[] = [
  [['object', 'workload'], 'Manifests'],
  [['script'], 'Training scripts'],
  [['pair'], 'A manifest and the script that it runs'],
  [['comment'], 'Comments'],
];

const MEANS: Readonly<Record<Severity, string>> = {
  error: 'loses work, or is refused by the API server',
  warning: 'hurts in an interruption',
  info: 'advice',
};

/** Markdown wraps here; tables are excepted. */
const COLUMNS = 100;

/** Every rule of `holdfast lint`, with the examples that are its tests. */
export function lintPage(rules: readonly Rule[]): string {
  return [
    '# Rules of lint',
    '',
    '<!-- Made by `npm run docs` from the tables in the source: change those, not this page. -->',
    '',
    ...wrap(
      'Every finding of `holdfast lint` has a stable code, and `holdfast explain CODE` prints the text below. The examples are the tests of the rules: each rule finds its first example and says nothing about its second. A comment behind the line or above it switches a finding off: `# holdfast-lint: off CODE reason`. How to use it: [lint.md](../lint.md).',
      COLUMNS,
    ),
    '',
    ...wrap(
      `Severities: ${Object.entries(MEANS)
        .map(([severity, text]) => `*${severity}* ${text}`)
        .join('; ')}.`,
      COLUMNS,
    ),
    '',
    ...GROUPS.flatMap(([on, heading]) => {
      const own = rules.filter((rule) => on.includes(rule.on));
      const list = own.map(({ code, severity, title }) => `| [${code}](#${code.toLowerCase()}) | ${severity} | ${title} |`);
      return [`## ${heading}`, '', '| code | severity | what is wrong |', '|---|---|---|', ...list, '', ...own.flatMap(section)];
    }),
  ].join('\n');
}

function section({ code, severity, title, why, fix, bad, good }: Rule): readonly string[] {
  return [
    `### ${code}`,
    '',
    `**${title}.** Severity ${severity}.`,
    '',
    ...wrap(why, COLUMNS),
    '',
    ...wrap(fix, COLUMNS),
    '',
    'Found:',
    '',
    ...example(bad),
    'Not found:',
    '',
    ...example(good),
  ];
}

function example({ manifest, script }: Example): readonly string[] {
  return [...fenced('yaml', manifest), ...fenced('python', script)];
}

function fenced(language: string, text: string | undefined): readonly string[] {
  return text === undefined ? [] : [`\`\`\`${language}`, text.trim(), '```', ''];
}
