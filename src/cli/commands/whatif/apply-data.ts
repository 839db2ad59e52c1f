import type { Alternative } from '../../../whatif/apply/alternatives/alternative.ts';
import type { Explanation } from '../../../whatif/apply/explain.ts';
import type { AppliedManifests } from './apply-manifests.ts';
import { costData, gangData } from './gang-data.ts';

/** The output of `whatif apply --json`; documented in docs/reference/whatif-json.md. */
export function applyData({ answer, explanation, from, version, nowMs, problems }: AppliedManifests) {
  const { pods, evicted, gangs, cost, violations, accelerators, possible, isSampled, shapes, alternatives, drawing, notes } = answer;
  return {
    schema: 'holdfast.whatif/1',
    question: 'apply',
    from,
    version,
    at: new Date(nowMs).toISOString(),
    pods: pods.map(({ pod, node, evicts, tied, message }) => ({ pod: pod.key, priority: pod.priority, node, evicts, tied, message })),
    evicted: evicted.map(({ pod, node, graceSeconds, by }) => ({ pod: pod.key, node, priority: pod.priority, graceSeconds, for: by })),
    gangs: gangs.map(gangData),
    lost: costData(cost),
    violations,
    accelerators,
    possible: possible.map(({ cost: each, ...set }) => ({ ...set, lost: costData(each) })),
    isSampled,
    shapes: shapes.map(({ request, pods: asking, waiting, nodesBefore, nodesAfter }) => ({
      request,
      pods: asking,
      waiting,
      nodesBefore,
      nodesAfter,
    })),
    alternatives: alternatives.map(alternativeData),
    nodes: drawing,
    explanation: explanation === null ? null : explanationData(explanation),
    notes,
    problems,
  };
}

function alternativeData({ cost, ...alternative }: Alternative) {
  return { ...alternative, lost: costData(cost) };
}

function explanationData({ candidates, ...told }: Explanation) {
  return {
    ...told,
    candidates: candidates.map(({ node, victims, violations }) => ({ node, victims: victims.map(({ key }) => key), violations })),
  };
}
