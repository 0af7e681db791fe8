// More mistakes of the kind `other`, each in a place that a hostile reviewer would choose: an index, a comparison, a queue, a version, a clock, a count.
import type { Mutant } from './by-hand.ts';

const other = (name: string, file: string, find: string, replace: string): Mutant => ({
  name,
  kind: 'other',
  file: `src/${file}`,
  find,
  replace,
});

export const byReview: readonly Mutant[] = [
  other(
    'windows are proven half as often',
    'cluster/window/proof.ts',
    'const periodMs = intervalMs * (1 - spreadShare);',
    'const periodMs = 2 * intervalMs * (1 - spreadShare);',
  ),
  other(
    'a slice stays with the Service that it named first',
    'sync/world/needs-index.ts',
    'linksOf(this.#services, kind.kind).note(key, needs?.service);',
    'if (virtual === undefined || this.serviceOf(kind, key) === undefined) linksOf(this.#services, kind.kind).note(key, needs?.service);',
  ),
  other(
    'a copy that is being deleted is written',
    'sync/plan/decide/decide.ts',
    '  if (host.isDeleting) {\n    return done({',
    '  if (host.isDeleting && false) {\n    return done({',
  ),
  other(
    'a list ends with its first page',
    'cluster/window/list-pages.ts',
    "if (list.continueToken === undefined) return { kind: 'listed', resourceVersion, count };",
    "if (list.continueToken !== '') return { kind: 'listed', resourceVersion, count };",
  ),
  other(
    'host Services wake nobody',
    'sync/loop/window-follower.ts',
    'for (const key of this.#options.world.objectsOfHostService(hostKey)) this.#options.enqueue(key);',
    'void hostKey;',
  ),
  other(
    'an import outlives its label',
    'sync/kinds/content/content-plan.ts',
    "if (facts.lost === 'unlabelled' && virtual.isDeleting === undefined) return ask(removalOf(virtual, 'virtual'));",
    '',
  ),
];
