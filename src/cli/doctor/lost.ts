// The checks that a cluster which has answered once goes on answering. They run after all others, and only where one did not.
import type { Check } from './patient/check.ts';
import type { Code } from './patient/codes.ts';
import { fault } from './patient/finding.ts';
import type { AskedSide, Patient } from './patient/patient.ts';

const sides: readonly { side: AskedSide; name: string; reached: Code; code: Code }[] = [
  { side: 'virtual', name: 'the virtual cluster', reached: 'HW-201', code: 'HW-205' },
  { side: 'host', name: 'the host cluster', reached: 'HW-301', code: 'HW-311' },
  { side: 'records', name: 'the cluster of the records', reached: 'HW-804', code: 'HW-812' },
];

/** The code that tells of a silence which has come over a cluster that the needs name. */
export function silenceOf({ lost }: Patient, needs: readonly Code[]): Code | undefined {
  return sides.find(({ side, reached }) => lost.has(side) && needs.includes(reached))?.code;
}

export const lostChecks: readonly Check[] = sides.map(({ side, name, code }) => ({
  code,
  needs: [],
  applies: ({ lost }) => lost.has(side),
  look: async ({ lost }) =>
    fault(`${name} answered at first, and then no more: ${lost.get(side)}`, {
      mend: "kubectl get --raw '/readyz?verbose'   # with the same kubeconfig; look at the API server, its etcd and proxies between, and run doctor again",
    }),
}));
