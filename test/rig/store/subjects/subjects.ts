// The stores under test. A store is added by a line here; what it can be put through, its subject says.
import { startKubeHost } from './kube-host.ts';
import { kubernetesSubject } from './kubernetes-subject.ts';
import { memorySubject } from './memory-subject.ts';
import type { Plant } from './planted.ts';
import { sqliteSubject } from './sqlite-subject.ts';
import type { Subject } from './subject.ts';

export const subjects: Readonly<Record<string, (plant?: Plant) => Subject>> = {
  memory: memorySubject,
  sqlite: sqliteSubject,
  kubernetes: (plant) => kubernetesSubject(plant),
  kube: (plant) => kubernetesSubject(plant, startKubeHost),
};

/** On demand, because they need programs that are not in the repository. */
export const onDemand: readonly string[] = ['kube'];
