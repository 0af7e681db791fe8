import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import { allChecks } from '../../../src/cli/doctor/doctor.ts';
import { chartKinds, mappedKinds, monitoringKinds } from '../../../src/cli/doctor/patient/chart-rights.ts';
import { codes, entryOf, pageOf } from '../../../src/cli/doctor/patient/codes.ts';
import { type ResourceRule, shippedRules } from '../../../src/cli/doctor/patient/shipped-rules.ts';
import { recordRules } from '../../../src/management/server/host/records/record-rights.ts';

const read = (path: string) => readFileSync(new URL(`../../../${path}`, import.meta.url), 'utf8');
const page = read('docs/doctor.md');

describe('the codes of doctor', () => {
  it('belong to one check each', () => {
    expect(allChecks.map(({ code }) => code).sort()).toEqual([...codes].sort());
  });

  it('need only checks that run before them', () => {
    for (const [index, { code, needs }] of allChecks.entries()) {
      const before = allChecks.slice(0, index).map((check) => check.code);
      expect(before, code).toEqual(expect.arrayContaining([...needs]));
    }
  });

  it('have an anchor in the page each, and the page has no other', () => {
    const anchors = [...page.matchAll(/^### (.+)$/gm)].map(([, heading = '']) => heading.toLowerCase());
    expect(anchors).toEqual(codes.map((code) => pageOf(code).replace('hostward docs doctor ', '').toLowerCase()));
  });

  it.each(codes)('%s says on the page what is found, why it matters and how to mend it', (code) => {
    const [, chapter = ''] = page.split(`### ${code}\n`);
    const [own = ''] = chapter.split(/^##/m);
    expect(own).toContain(`**${entryOf(code).title}**`);
    for (const word of ['- Found: ', '- Why it matters: ', '- Mend: ']) expect(own).toContain(word);
  });

  it('have links on the page that lead to codes', () => {
    const linked = [...page.matchAll(/\]\(#(hw-\d+)\)/g)].map(([, anchor = '']) => anchor.toUpperCase());
    expect(linked.filter((code) => !(codes as string[]).includes(code))).toEqual([]);
  });
});

interface Role {
  kind?: string;
  rules?: ResourceRule[];
}

/** One line for each right, so that rules may be grouped in any way. */
function rights(rules: readonly ResourceRule[]): string[] {
  const lines = rules.flatMap(({ apiGroups, resources, verbs }) =>
    apiGroups.flatMap((group) => resources.flatMap((resource) => verbs.map((verb) => `${verb} ${resource}.${group}`))),
  );
  return [...new Set(lines)].sort();
}

describe('the rights that doctor takes for shipped', () => {
  it.each(['config/role.yaml', 'config/cluster-role.yaml'])('are those of %s', (file) => {
    const documents = parseAllDocuments(read(file)).map((document) => document.toJS() as Role);
    const roles = documents.filter(({ kind }) => kind === 'Role' || kind === 'ClusterRole');
    expect(rights(roles.flatMap(({ rules = [] }) => rules))).toEqual(rights(shippedRules));
  });

  it('are those of the chart, without the ones for references', () => {
    // Without Helm: what is between the actions is YAML, and only lists of rules are read.
    const template = read('config/chart/templates/sync-rights.yaml').replace(/^%s.*$/m, '');
    const rules = [...template.matchAll(/- apiGroups: .+\n +resources: .+\n +verbs: .+/g)].map(
      ([text]) => (parse(text.replace(/^ +/gm, '  ').replace(/^- /, '- ')) as ResourceRule[])[0] as ResourceRule,
    );
    const own = rules.filter(({ resources }) => !resources.includes('secrets'));
    expect(rights(own)).toEqual(rights(shippedRules));
  });

  it('are those of the chart on the records', () => {
    const template = read('config/chart/templates/management-store.yaml');
    const rules = [
      ...template.matchAll(
        /^ +- apiGroups: .+\n +resources: .+\n +verbs: .+get.+|^ +- apiGroups: .+\n +resources: .configmaps.\n +verbs: .+/gm,
      ),
    ];
    const own = rules.map(([text]) => (parse(text.replace(/^ {2}/gm, '')) as ResourceRule[])[0] as ResourceRule);
    expect(rights(own)).toEqual(rights(recordRules));
  });
});

describe('the objects that doctor --pre wants to be made', () => {
  it('are those of the templates of the sync', () => {
    const made = ['sync.yaml', 'sync-rights.yaml', 'monitoring.yaml'].flatMap((file) => {
      const template = read(`config/chart/templates/${file}`);
      return [...template.matchAll(/^apiVersion: (?:(.+)\/)?v1\nkind: (.+)$/gm)].map(
        ([, group = '', kind = '']) => `${group} ${kind.toLowerCase()}s`,
      );
    });
    const counted = [...chartKinds, ...mappedKinds, ...monitoringKinds].map((one) => one.join(' '));
    expect([...new Set(made)].sort()).toEqual(counted.sort());
  });
});
