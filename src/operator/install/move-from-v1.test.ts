import { describe, expect, it } from 'vitest';
import { moveScript, stepsBackToV1, stepsFromV1 } from './move-from-v1.ts';

const OPTIONS = { namespace: 'system', image: 'registry.example.com/holdfast:1', watchNamespace: null };

describe('the script that moves the jobs of v1', () => {
  const script = moveScript(OPTIONS);
  const order = (...words: readonly string[]): readonly number[] => words.map((word) => script.indexOf(word));

  it('saves the webhooks, stops v1, deletes them, and then starts this operator', () => {
    const places = order(
      '-o yaml >',
      'scale deployment/training-operator --replicas=0',
      'kubectl delete',
      'install --crds',
      'install --image=',
    );
    expect(places).toEqual(places.toSorted((a, b) => a - b));
    expect(places).not.toContain(-1);
  });

  it('deletes nothing but the webhooks', () => {
    const deletions = stepsFromV1(OPTIONS).flatMap(({ commands }) => commands.filter((command) => command.includes('kubectl delete')));
    expect(deletions).toEqual([
      'kubectl delete --ignore-not-found validatingwebhookconfiguration/validator.training-operator.kubeflow.org',
    ]);
  });

  it('keeps the kinds of v1 as they are', () => {
    expect(script).toContain('install --crds | kubectl apply --server-side --selector=app.kubernetes.io/component=record -f -');
  });

  it('runs nothing of the way back, which removes what the script installed', () => {
    const back = stepsBackToV1({ ...OPTIONS, watchNamespace: 'team' }).flatMap(({ commands }) => commands);
    expect(back[0]).toBe('holdfast operator uninstall --namespace=system --watch-namespace=team | kubectl delete --ignore-not-found -f -');
    const way = script.slice(script.indexOf('# The way back'));
    expect(way.split('\n').every((line) => line.startsWith('#'))).toBe(true);
  });
});
