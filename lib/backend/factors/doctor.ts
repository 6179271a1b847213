import type { OpenProject } from '../../doctor/project.ts';
import type { Add } from '../../doctor/report.ts';

export function addFactors(_project: OpenProject, add: Add): void {
  add('note', 'mfa', 'This key cannot read whether second factors are enabled', {
    fix: 'Before you guard with { aal }, enable TOTP under Multi-Factor in the project’s settings.',
  });
}
