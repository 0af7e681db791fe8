// Rows for what people correct in files: kubeconfigs that lead elsewhere, and a configuration that is not in force. In: the status as JSON.
// Out: rows. Pure.
import { textsIn } from '../../../object/text/json.ts';
import { type StatusJson, say } from '../words.ts';
import { type AttentionItem, item, rowsOf } from './attention-item.ts';
import { configuredCommand, startedAs } from './own-commands.ts';

/** Nothing is written while a kubeconfig leads to what has not proved to be the same cluster. */
export function addressItems(status: StatusJson): AttentionItem[] {
  return rowsOf(status['addresses']).flatMap(({ cluster, notTaken, isUnread }) => {
    if (typeof notTaken !== 'string') return [];
    const remedy =
      isUnread === true
        ? 'correct the file, which a daemon cannot start with; this says what is wrong with it'
        : 'correct the kubeconfig, or start the daemon again if it means this cluster; this shows where it leads';
    return item(`${say(cluster)} cluster`, 'NotTaken', notTaken, {
      remedy,
      command: configuredCommand(status, 'doctor'),
    });
  });
}

const correctFile = 'correct the file; until then the configuration before it is in force';

export function configurationItems(status: StatusJson): AttentionItem[] {
  const late = status['newConfigurationNotTakenOver'];
  const invalid = textsIn(status['newConfigurationIsInvalid']);
  const waiting = textsIn(status['settingsWaitForRestart']);
  return [
    ...invalid.map((fault) => {
      return item('configuration', 'ConfigurationInvalid', fault, {
        remedy: correctFile,
        command: configuredCommand(status, 'check'),
      });
    }),
    ...(typeof late === 'string'
      ? [
          item('configuration', 'ConfigurationNotTakenOver', late, {
            remedy: 'correct what it names; until then the configuration before it is in force',
            command: configuredCommand(status, 'check'),
          }),
        ]
      : []),
    ...(waiting.length > 0
      ? [
          invalid.length === 0
            ? item('configuration', 'RestartNeeded', `waiting for a restart: ${waiting.join(', ')}`, {
                remedy: 'end the daemon and start it again when it suits',
                command: startedAs(status).restart,
              })
            : item(
                'configuration',
                'RestartNeeded',
                `waiting for a restart, and none can start: ${waiting.join(', ')}`,
                {
                  remedy: correctFile,
                  command: configuredCommand(status, 'check'),
                },
              ),
        ]
      : []),
  ];
}
