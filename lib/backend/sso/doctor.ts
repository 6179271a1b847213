import type { OpenProject } from '../../doctor/project.ts';
import type { Add } from '../../doctor/report.ts';

export function checkSso({ settings }: OpenProject, add: Add): void {
  const isEnabled = settings['saml_enabled'] === true;
  add('note', 'sso', `SAML single sign-on is ${isEnabled ? 'on: the option sso offers it' : 'off in this project'}`, {
    values: { isEnabled },
  });
}
