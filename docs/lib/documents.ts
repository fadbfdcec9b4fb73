// The five documents that hookline was made after: what each of them shows and names, and the page that answers it.
// The documents are not in the repository; tests/coming-from.test.ts holds the pages to this list.

interface Sample {
  /** What the document shows, in our words. */
  readonly shows: string;
  /** Where its counterpart is: a heading of the page with a running block under it. */
  readonly heading: string;
  /** A test of what it does, besides that it runs: file and title. */
  readonly test?: string;
}

export interface Document {
  readonly number: string;
  readonly system: string;
  /** In docs/coming-from. */
  readonly page: string;
  readonly samples: readonly Sample[];
  /** Every hook, class, option and metric it names: each has a row in the page's tables. */
  readonly names: readonly string[];
}

const words = (text: string): string[] => text.trim().split(/\s+/);
const HOOKS = "tests/hooks/documents.test.ts";
const HOOKS_002 = "tests/hooks/document-002.test.ts";
const CONFIG_002 = "tests/experiment/document-002.test.ts";

export const DOCUMENTS: readonly Document[] = [
  {
    number: "000",
    system: "trainer.callbacks",
    page: "trainer-callbacks.md",
    samples: [
      {
        shows: "early stopping with its options",
        heading: "Early stopping",
        test: "src/hooks/early-stopping/early-stopping.test.ts: stops after so many checks without improvement",
      },
      {
        shows: "checkpoints by step or epoch, the best K, two formats (in words)",
        heading: "Checkpoints",
        test: "src/hooks/model-checkpoint/record.test.ts: saveTotalLimit: the best so many with a monitor",
      },
      {
        shows: "logging backends, what is logged, a progress bar (in words)",
        heading: "Logging and progress",
        test: "src/hooks/system-stats.test.ts: numbers of each from one child",
      },
      {
        shows: "a callback that stops on a NaN loss",
        heading: "Halt on NaN",
        test: `${HOOKS}: HaltOnNan stops the run`,
      },
    ],
    names: words(`trainer.callbacks Callback CallbackContext on_init_end on_train_begin on_step_begin on_step_end
      on_epoch_begin on_epoch_end on_save on_load EarlyStoppingCallback monitor patience min_delta mode restore_best
      CheckpointCallback step epoch save_total_limit .pt .safetensors LoggingCallback CONSOLE TENSORBOARD WANDB
      ProgressCallback HaltOnNan ctx.loss ctx.step ctx.metrics ctx.model`),
  },
  {
    number: "001",
    system: "TrainingHook and HookManager",
    page: "hook-manager.md",
    samples: [
      { shows: "a trainer with console logs, JSON logs and checkpoints", heading: "Quick start" },
      { shows: "when the five methods are called", heading: "The lifecycle" },
      {
        shows: "a hook that prints the mean loss",
        heading: "A custom hook",
        test: `${HOOKS}: CustomHook prints the running average at every hundredth batch`,
      },
      {
        shows: "add, remove, disable, enable and list",
        heading: "Managing hooks",
        test: `${HOOKS}: its hooks are managed by name`,
      },
      {
        shows: "the state dictionary",
        heading: "The state of the run",
        test: `${HOOKS}: what its state dictionary holds is in the context`,
      },
    ],
    names: words(`get_trainer TrainingHook HookManager BaseTrainer SimpleTrainer AccelerateTrainer trainer.train()
      on_train_begin on_epoch_begin on_batch_end on_epoch_end on_train_end add_hook remove_hook disable_hook enable_hook
      list_hooks add_console_logging add_json_logging add_checkpointing ConsoleLogHook JSONLogHook CheckpointHook
      log_every_n_batches save_every_n_epochs state model optimizer device current_epoch current_batch_idx latest_loss
      avg_loss model_params status training completed error`),
  },
  {
    number: "002",
    system: "Model Training Framework",
    page: "hook-framework.md",
    samples: [
      {
        shows: "the logging hook",
        heading: "Logging",
        test: `${CONFIG_002}: the run is complete, and the logging hook has written it`,
      },
      {
        shows: "the gradient monitor with its options",
        heading: "Gradient monitor",
        test: `${CONFIG_002}: the gradient monitor looks every third step, at the parameters of the filter`,
      },
      {
        shows: "the model checkpoint with its options",
        heading: "Model checkpoint",
        test: `${CONFIG_002}: the three best checkpoints and the last are there, under names of the template`,
      },
      {
        shows: "early stopping with its options",
        heading: "Early stopping",
        test: `${CONFIG_002}: early stopping stops when nothing improves by min_delta`,
      },
      {
        shows: "the learning-rate monitor with its options",
        heading: "Learning-rate monitor",
        test: `${CONFIG_002}: the rate, momentum and weight decay are logged once an epoch`,
      },
      {
        shows: "a custom hook that halves the rate",
        heading: "A custom hook",
        test: `${HOOKS_002}: halves the learning rate, again and again, after ten batches of high loss`,
      },
      {
        shows: "three ways to register a hook",
        heading: "Registering hooks",
        test: `${CONFIG_002}: an own hook gets its config, and changes the run`,
      },
      { shows: "the complete interface", heading: "The whole interface" },
      {
        shows: "the order of execution",
        heading: "Order",
        test: `${CONFIG_002}: user hooks run before built-in ones, each in the order of the config`,
      },
      {
        shows: "a hook with state",
        heading: "State",
        test: `${HOOKS_002}: StatefulHook notices a plateau, and what it knows can be saved`,
      },
      {
        shows: "two hooks that talk to each other",
        heading: "Hooks that talk to each other",
        test: `${HOOKS_002}: ProducerHook and ConsumerHook talk through`,
      },
      {
        shows: "a hook that works from an epoch on",
        heading: "Conditions",
        test: `${HOOKS_002}: ConditionalHook works from its epoch on`,
      },
      {
        shows: "notices to Slack",
        heading: "External services",
        test: `${HOOKS_002}: SlackNotificationHook posts each new best loss and the end`,
      },
      {
        shows: "a hook for debugging",
        heading: "Debugging",
        test: `${HOOKS_002}: DebugHook shows shapes, and NaN gradients and losses by name`,
      },
      { shows: "where to put hooks", heading: "Organising hooks" },
      {
        shows: "a hook with a configuration",
        heading: "Options of a hook",
        test: `${HOOKS_002}: ConfigurableHook runs at its frequency`,
      },
      {
        shows: "a hook whose errors do not end the run",
        heading: "Errors in a hook",
        test: `${HOOKS_002}: RobustHook keeps its errors`,
      },
      {
        shows: "a hook that looks at a sample",
        heading: "Sampling",
        test: `${HOOKS_002}: EfficientHook looks at a sample`,
      },
      {
        shows: "a test of a hook",
        heading: "Testing a hook",
        test: `${HOOKS_002}: passes the document's own test`,
      },
    ],
    names: words(`HooksConfig enable_logging_hook enable_gradient_monitor gradient_monitor_config log_frequency
      log_histogram log_norm param_filter percentiles enable_model_checkpoint_hook model_checkpoint_config save_top_k
      monitor mode save_last save_on_train_epoch_end filename auto_insert_metric_name enable_early_stopping_hook
      early_stopping_config patience min_delta check_on_train_epoch_end strict verbose enable_lr_monitor
      lr_monitor_config log_momentum log_weight_decay frequency step epoch TrainerHooks on_train_start on_train_end
      on_training_end on_epoch_start on_epoch_end on_train_batch_start on_train_batch_end on_validation_start
      on_validation_end on_validation_batch_start on_validation_batch_end on_before_backward on_after_backward
      on_before_optimizer_step on_after_optimizer_step on_gradient_clip on_checkpoint_save on_checkpoint_load
      on_exception trainer batch batch_idx dataloader_idx dataloader_name loader_idx loader_name metrics loss
      optimizer_idx grad_norm checkpoint_path exception trainer.optimizers param_groups trainer.best_accuracy
      trainer.model.named_parameters() GenericTrainer hook_manager register_hook hook_classes hook_configs
      trainer.hook_data trainer.config.debug webhook_url notify_on training_end best_model break_on_nan log_shapes
      enabled should_run sample_rate val/loss val/accuracy`),
  },
  {
    number: "003",
    system: "WarpRec, on Ray Tune",
    page: "warprec-ray-tune.md",
    samples: [
      {
        shows: "a callback for the four points of the pipeline (in words)",
        heading: "A callback",
        test: "tests/experiment/experiment.test.ts: is read, handed from hook to hook in their order, and split",
      },
      {
        shows: "a callback in the configuration (in words)",
        heading: "In a configuration",
        test: `${CONFIG_002}: document 003: %s, at the points of the pipeline`,
      },
      {
        shows: "the inherited lifecycle of Ray Tune (in words)",
        heading: "The trials of a search",
        test: "tests/tune/study.test.ts: one object listens to the study and to the trainings",
      },
    ],
    names:
      words(`WarpRecCallback on_data_reading on_dataset_creation on_training_complete on_evaluation_complete Callback
      callback setup on_step_begin on_step_end on_trial_start on_trial_result on_checkpoint on_trial_save
      on_trial_restore on_trial_complete on_trial_recover on_trial_error on_experiment_end get_state set_state`),
  },
  {
    number: "004",
    system: "KempnerForge",
    page: "kempnerforge.md",
    samples: [
      {
        shows: "a hook with the five methods",
        heading: "The five methods",
        test: `${HOOKS}: a hook gets all that its five methods are given`,
      },
      { shows: "what a step's context holds", heading: "The step's context" },
      { shows: "the order of update, metrics, hook, evaluation and checkpoint", heading: "The order within a step" },
      { shows: "a runner with two hooks", heading: "Registering hooks" },
      {
        shows: "what needs a hook, and what a fork (in words)",
        heading: "What needed a fork",
        test: "src/hooks/phases/loss-schedule.test.ts: changes the loss exactly where it says",
      },
      {
        shows: "a histogram of gradient norms",
        heading: "A histogram of gradient norms",
        test: `${HOOKS}: GradHistogramHook logs the norms before clipping`,
      },
    ],
    names: words(`TrainingHook HookRunner on_train_begin(config) on_step_end(ctx) StepContext step loss grad_norm lr
      tokens_seen model optimizer JobConfig eval/loss eval/perplexity config.checkpoint.dir tracker.end_step
      optimizer.zero_grad wandb.log`).concat(
      "on_eval_end(metrics, step)",
      "on_checkpoint_save(step, path)",
      "on_train_end(step, tokens_seen)",
    ),
  },
];
