import type { News } from './news.ts';

const ALERTS: Readonly<Record<News['kind'], { readonly name: string; readonly verb: string; readonly severity: string }>> = {
  interrupted: { name: 'HoldfastRunInterrupted', verb: 'was interrupted', severity: 'warning' },
  failed: { name: 'HoldfastRunFailed', verb: 'has failed', severity: 'critical' },
  succeeded: { name: 'HoldfastRunSucceeded', verb: 'has succeeded', severity: 'none' },
};
/** Alertmanager’s mark for an alert that has not ended. */
const NOT_ENDED = '0001-01-01T00:00:00Z';

/**
 * The body of a notification: what Alertmanager posts to a webhook, and the `text` of Slack’s
 * incoming webhooks. Each receiver ignores the fields of the other.
 */
export function notificationOf(news: News): Readonly<Record<string, unknown>> {
  const { name, verb, severity } = ALERTS[news.kind];
  const { namespace, run, subject, attempt, cause, at } = news;
  const status = news.kind === 'succeeded' ? 'resolved' : 'firing';
  const labels = { alertname: name, severity, namespace, run, kind: subject.kind, job: subject.name, cause };
  const summary = `${subject.kind} ${namespace}/${subject.name} ${verb} in attempt ${attempt}: ${news.what}`;
  const annotations = { summary, description: `Lost work: ${news.lost}. Next: ${news.next}.`, lost: news.lost, next: news.next };
  const key = `${namespace}/${run}/${attempt}`;
  return {
    text: [summary, `Lost work: ${news.lost}`, `Next: ${news.next}`].map(forSlack).join('\n'),
    version: '4',
    groupKey: `holdfast:${key}`,
    truncatedAlerts: 0,
    status,
    receiver: 'holdfast',
    groupLabels: { namespace, run },
    commonLabels: labels,
    commonAnnotations: annotations,
    externalURL: '',
    alerts: [
      { status, labels, annotations, startsAt: at, endsAt: status === 'resolved' ? at : NOT_ENDED, generatorURL: '', fingerprint: key },
    ],
  };
}

/** The three characters that Slack reads as markup. */
function forSlack(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}
