import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pageWith } from '../scenario/notes.ts';
import { type Scenario, isReplayed, readScenario, scenarioNames } from './scenario.ts';
import { storedTrace } from './store.ts';

const PAGE = join(import.meta.dirname, 'README.md');

export function readPage(): string {
  return readFileSync(PAGE, 'utf8');
}

export function writePage(): void {
  writeFileSync(PAGE, pageWithUnplayed(readPage()));
}

/** The page with the current list of scenarios that are recorded and that no test plays. */
export function pageWithUnplayed(page: string): string {
  const rows = scenarioNames()
    .map(readScenario)
    .filter((scenario) => !isReplayed(scenario))
    .map(row);
  return pageWith(
    page,
    'and never played',
    ['| scenario | why no test plays it | recorded | plays |', '|---|---|---|---:|', ...rows].join('\n'),
  );
}

function row({ name, isLong, chance }: Scenario): string {
  const reasons = [...(isLong ? ['takes minutes'] : []), ...(chance === null ? [] : [`a race: ${chance}`])];
  const trace = storedTrace(name);
  return `| [${name}](recorded/${name}.json) | ${reasons.join('; ')} | ${trace?.recordedAt ?? 'never'} | ${trace?.plays ?? 0} |`;
}
