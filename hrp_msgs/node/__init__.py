"""What every node needs: parameters, quality of service, executors, logs, actions."""
