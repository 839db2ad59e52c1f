import type { GraceReport } from '../../../grace/grace-report.ts';
import type { FoundReports } from './find-reports.ts';

/** The output of `grace --json`; documented in docs/reference/grace-json.md. */
export function graceData({ reports, problems }: FoundReports) {
  return { schema: 'holdfast.grace/1', pods: reports.map(reportData), problems };
}

function reportData({ subject, pod, save, lines, change }: GraceReport) {
  return {
    subject,
    graceSeconds: pod.graceSeconds,
    cloud: pod.cloud,
    isSupervised: pod.isSupervised,
    hears: pod.hearing.hears,
    hearsBecause: pod.hearing.reason,
    save,
    causes: lines.map(({ cause, title, graceMs, isTold, isHeard, confidence, verdict, links, note }) => ({
      cause,
      title,
      graceMs,
      isTold,
      isHeard,
      confidence,
      verdict,
      chain: links.map(({ deadlineMs, reason }) => ({ graceMs: deadlineMs, reason })),
      note,
    })),
    change,
  };
}
