import type { Cost } from '../../../whatif/loss/cost.ts';
import type { StoppedGang } from '../../../whatif/loss/stopped-gangs.ts';

/** A gang that stops, as every answer of `whatif --json` writes it. */
export function gangData({ gang, leaving, loss, fate, reaction, returns, evictsInTurn }: StoppedGang) {
  return {
    gang: gang.title,
    kind: gang.kind,
    pods: gang.pods.length,
    leaving,
    unsavedSeconds: loss.unsavedSeconds,
    restartSeconds: loss.restartSeconds,
    accelerators: loss.accelerators,
    acceleratorSeconds: loss.acceleratorSeconds,
    atMostAcceleratorSeconds: loss.atMostAcceleratorSeconds,
    source: loss.source,
    isService: loss.isService,
    fate,
    because: reaction.because,
    canLookFinished: reaction.canLookFinished,
    returns,
    evictsInTurn,
  };
}

/** JSON has no infinity: a loss without any bound has none. */
export function costData({ acceleratorSeconds, worst }: Cost) {
  return { acceleratorSeconds, atMostAcceleratorSeconds: Number.isFinite(worst) ? worst : null };
}
