import { printable } from '../../../core/printable.ts';
import type { StoppedGang } from '../../../whatif/loss/stopped-gangs.ts';
import { someOf } from '../../../whatif/world/note.ts';
import type { Output } from '../../output/output.ts';
import { wrap } from '../../output/table.ts';
import { lossText } from './render-cost.ts';

type Look = Pick<Output, 'style' | 'columns'>;

const MOST_GANGS = 12;

/** Each gang that loses pods: what is lost, and what becomes of it. */
export function renderGangs(gangs: readonly StoppedGang[], look: Look): readonly string[] {
  const left = gangs.length - MOST_GANGS;
  return [
    ...gangs.slice(0, MOST_GANGS).flatMap((gang) => renderGang(gang, look)),
    ...(left > 0 ? [look.style.dim(`  and ${left} more; --json has all`)] : []),
  ];
}

function renderGang(stopped: StoppedGang, { style, columns }: Look): readonly string[] {
  const { gang, leaving, loss } = stopped;
  const pods = `${leaving.length} of ${gang.pods.length} ${gang.pods.length === 1 ? 'pod' : 'pods'}`;
  const whole = gang.pods.length > leaving.length && gang.kind !== 'Pod' ? ', so all of it stops' : '';
  const line = (term: string, text: string): readonly string[] =>
    wrap(printable(text), columns - 12).map((part, index) => `    ${index === 0 ? style.dim(term.padEnd(6)) : ' '.repeat(6)}  ${part}`);
  return [
    `  ${style.bold(printable(gang.title))}  ${style.dim(`loses ${pods}${whole}`)}`,
    ...line('lost', lossText(loss)),
    ...line('then', fateText(stopped)),
  ];
}

/** What becomes of a gang, in a sentence. */
function fateText({ fate, reaction, returns, evictsInTurn }: StoppedGang): string {
  const placed = returns.flatMap(({ node }) => (node === null ? [] : [node]));
  const turn = evictsInTurn.length === 0 ? '' : `; it evicts ${someOf(evictsInTurn, 3)} in turn`;
  const finished = reaction.canLookFinished ? '. A trainer that exits with 0 on SIGTERM makes it look finished' : '';
  const words = {
    restarts: () => `it restarts on ${someOf([...new Set(placed)], 3)}${turn}: ${reaction.because}`,
    waits: () => `it waits for room (${placed.length} of ${returns.length} pods fit now)${turn}: ${reaction.because}`,
    ends: () => `it does not come back: ${reaction.because}`,
    unknown: () => `it depends: ${reaction.because}${placed.length < returns.length ? '; there is no room for it now' : ''}`,
  };
  return `${words[fate]()}${finished}`;
}
